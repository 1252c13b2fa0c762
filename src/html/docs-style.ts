// What pages of documentation look like beyond every other page.
export const DOCS_STYLE = `
h1 small{font-size:1rem;font-weight:400;color:var(--soft)}
h2 code{font-size:1.0625rem}
h4{font-size:.875rem;margin:1.25rem 0 .4rem;color:var(--soft)}
.operation summary{display:flex;flex-wrap:wrap;gap:.25rem .75rem;align-items:baseline;color:var(--text)}
.operation summary span{font-weight:400;color:var(--soft);font-size:.9375rem}
.operation summary code{overflow-wrap:anywhere}
.operation summary::before{content:"\\25b8";font-size:.75rem;color:var(--link)}
.operation[open] summary::before{content:"\\25be"}
.errors{margin:.75rem 0;border:1px solid var(--line);border-radius:10px;overflow:hidden}
.errors details{margin:0;border-width:0 0 1px;border-radius:0}
.errors details:last-child{border:0}
.errors summary{padding:.4rem 1.25rem;font-size:.9375rem}
.errors .inside dl>div{grid-template-columns:14rem 1fr}
.method{font-family:var(--code);font-size:.8125rem;min-width:4rem;color:var(--link)}
.method.delete{color:var(--bad)}
.method.post{color:var(--good)}
.inside>:first-child{margin-top:.75rem}
.inside dl>div{grid-template-columns:9rem 1fr}
.rows{border:1px solid var(--line);border-radius:8px;padding:0 .9rem}
.inside .rows>div{grid-template-columns:minmax(12rem,1fr) 3fr;padding:.4rem 0}
.rows dt{color:var(--text)}
.rows .hint{display:block}
.needed{font-size:.75rem;color:var(--bad);font-weight:600}
.copy{background:var(--back);border:1px solid var(--line);border-radius:8px;padding:.6rem .9rem;margin:.5rem 0;overflow-x:auto;user-select:all;white-space:pre-wrap;overflow-wrap:anywhere}
.ids{display:flex;flex-wrap:wrap;gap:.75rem;align-items:end;margin-bottom:1rem}
.patches{align-items:start;display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,16rem),1fr));gap:.75rem 1.25rem}
.patches p{margin:.5rem 0 0}
.patches form{border:1px solid var(--line);border-radius:8px;padding:.75rem}
@media (max-width:640px){.errors .inside dl>div,.inside dl>div,.inside .rows>div{grid-template-columns:1fr}.operation summary{padding:.625rem 1rem}}
`
