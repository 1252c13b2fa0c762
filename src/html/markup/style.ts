// The style sheets: that of every page, allowed by its hash and nothing else, and more for the documentation.
import { createHash } from 'node:crypto'

export const STYLE = `
:root{color-scheme:light dark;--back:#f6f7f9;--card:#fff;--text:#1c2330;--soft:#5b6675;--line:#dde2e9;--link:#1453c4;--link-back:#e8f0fe;--bad:#b3261e;--bad-back:#fdecea;--good:#146c43;--good-back:#e6f4ec;--on:#fff;--focus:#e08a00;--shade:#1c233026;--code:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
@media (prefers-color-scheme:dark){:root{--back:#12161c;--card:#1a2028;--text:#e6eaf0;--soft:#9aa6b5;--line:#2e3742;--link:#86b4ff;--link-back:#1d2c45;--bad:#ff9d94;--bad-back:#3a1d1b;--good:#7fd6a7;--good-back:#16301f;--on:#10151c;--focus:#ffb648;--shade:#000a}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--back);color:var(--text);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",sans-serif}
header,main,footer{max-width:76rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:1rem}
footer{padding-top:1rem;padding-bottom:2rem;color:var(--soft);font-size:.875rem}
a{color:var(--link);text-underline-offset:.15em;text-decoration-thickness:1px}
:focus-visible{outline:3px solid var(--focus);outline-offset:2px;border-radius:4px}
main:focus{outline:none}
.skip{position:absolute;left:-999rem;top:0;padding:.5rem 1rem;background:var(--card);z-index:1}
.skip:focus{left:.5rem;top:.5rem}
.hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
nav ol,nav ul,ul.tags,ul.related,footer ul{list-style:none;margin:0;padding:0;display:flex;flex-wrap:wrap;gap:.25rem .75rem}
.breadcrumbs li+li::before{content:"/";color:var(--soft);margin-right:.75rem}
.breadcrumbs [aria-current]{color:var(--soft)}
h1{font-size:1.75rem;line-height:1.2;margin:.75rem 0 1rem;overflow-wrap:anywhere}
h2{font-size:1.125rem;margin:1.75rem 0 .5rem}
p{margin:.5rem 0}
.lead{color:var(--soft);margin:-.5rem 0 1rem}
.bar .lead{margin:0 0 .25rem}
.card,details,.notice{background:var(--card);border:1px solid var(--line);border-radius:10px}
.card{padding:.25rem 1.25rem}
.notice{padding:.75rem 1.25rem;margin:0 0 1rem}
.notice.bad{background:var(--bad-back);border-color:var(--bad)}
.notice.good{background:var(--good-back);border-color:var(--good)}
.notice h2{margin:0;font-size:1rem}
.notice ul{margin:.25rem 0 0;padding-left:1.25rem}
.notice a{color:inherit}
.notice,.hint,.issue,summary{overflow-wrap:anywhere}
.bar{display:flex;flex-wrap:wrap;gap:.75rem 1.5rem;align-items:center;justify-content:space-between;margin:0 0 .75rem}
.bar h1{margin:.75rem 0 .25rem}
.search{display:flex;gap:.5rem}
.search input{width:14rem}
.scroll{overflow-x:auto;border:1px solid var(--line);border-radius:10px;background:linear-gradient(to left,var(--card) 2rem,transparent) right/4rem 100% no-repeat local,linear-gradient(to left,var(--shade),transparent) right/1.25rem 100% no-repeat,var(--card)}
.sideways{margin:0 0 .25rem;text-align:right}
.sideways.phone{display:none}
table{border-collapse:collapse;width:100%;font-size:.9375rem}
th,td{text-align:left;padding:.5rem .875rem;border-bottom:1px solid var(--line);vertical-align:top;white-space:nowrap;max-width:22rem;overflow:hidden;text-overflow:ellipsis}
tbody tr:last-child td{border-bottom:0}
tbody tr:hover,tbody tr:hover td{background:var(--link-back)}
th{font-weight:600;font-size:.8125rem;color:var(--soft)}
[aria-sort] a{font-weight:800}
.up::after{content:" \\25B2"}
.down::after{content:" \\25BC"}
td.number,th.number{text-align:right}
.number,time{font-variant-numeric:tabular-nums}
td .text{white-space:nowrap}
td .tags{flex-wrap:nowrap}
td:first-child,th:first-child{position:sticky;left:0;background:var(--card);border-right:1px solid var(--line)}
td img{display:block;height:3rem;max-width:6rem;object-fit:cover;border-radius:6px}
dd img{display:block;max-width:min(100%,28rem);max-height:20rem;border-radius:8px}
.nothing{color:var(--soft)}
.empty{background:var(--card);border:1px dashed var(--line);border-radius:10px;padding:2rem;text-align:center;color:var(--soft)}
.pages{display:flex;flex-wrap:wrap;gap:.5rem 1.5rem;align-items:center;justify-content:space-between;margin:.75rem 0}
.pages p{margin:0;color:var(--soft)}
.pages a{display:inline-block;padding:.25rem .75rem;border:1px solid var(--line);border-radius:999px;background:var(--card);text-decoration:none}
.pages a:hover{border-color:var(--link)}
.tags li{background:var(--back);border:1px solid var(--line);border-radius:6px;padding:0 .5rem;font-size:.875rem}
dl{margin:0}
dl>div{display:grid;grid-template-columns:12rem 1fr;gap:0 1.25rem;padding:.5rem 0;border-bottom:1px solid var(--line)}
dl>div:last-child{border-bottom:0}
dl dl>div{grid-template-columns:9rem 1fr;padding:.25rem 0}
dt{color:var(--soft);overflow-wrap:anywhere}
dd{margin:0;overflow-wrap:anywhere;min-width:0}
dd ol{margin:0;padding-left:1.25rem}
.text{white-space:pre-wrap}
code,.code{font-family:var(--code);font-size:.875rem}
details{margin:.75rem 0}
summary{padding:.625rem 1.25rem;cursor:pointer;font-weight:600;border-radius:10px;color:var(--link)}
details[open]>summary{border-bottom:1px solid var(--line);border-radius:10px 10px 0 0}
pre.code{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--back);border:1px solid var(--line);border-radius:8px;padding:.6rem .9rem;margin:.5rem 0;max-height:30rem;overflow:auto}
details>form,details>.inside{padding:.5rem 1.25rem .75rem}
.fields{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,15rem),1fr));gap:.75rem 1.25rem;align-items:start}
.field.wide,fieldset{grid-column:1/-1}
.pair{display:flex;flex-wrap:wrap;gap:.5rem}
.pair>*{flex:1 1 5rem;min-width:0}
.pair>.operator{flex:0 1 auto;width:auto;max-width:60%}
.pair>[type=date]{flex-basis:8.5rem}
.pair>.instant{flex-basis:12rem}
.filters .fields{grid-template-columns:repeat(auto-fill,minmax(min(100%,18rem),1fr))}
.checks{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem}
.checks label{font-weight:400;padding:.25rem 0;margin:0}
[type=checkbox]{width:1.25rem;height:1.25rem;min-height:0;margin:0}
.group{display:block;font-size:.875rem;font-weight:600;margin-bottom:.2rem;overflow-wrap:anywhere}
details>form>p,.card>form>p{margin-top:1rem}
fieldset{border:1px solid var(--line);border-radius:8px;margin:0;padding:.5rem 1rem 1rem;display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,14rem),1fr));gap:.75rem 1.25rem;min-width:0}
legend{font-weight:600;padding:0 .25rem}
label{display:block;font-size:.875rem;font-weight:600;margin-bottom:.2rem;overflow-wrap:anywhere}
.hint{color:var(--soft);font-size:.8125rem;font-weight:400;margin:.2rem 0 0}
.issue{color:var(--bad);font-size:.875rem;font-weight:600;margin:.25rem 0 0}
.issue span{display:block}
input,select,textarea,button,.button{font:inherit;color:inherit;border:1px solid var(--line);border-radius:8px;padding:.45rem .7rem;background:var(--back);min-height:2.6rem}
input,select,textarea{width:100%}
textarea{display:block;resize:vertical}
[aria-invalid=true]{border-color:var(--bad);box-shadow:0 0 0 1px var(--bad)}
button,.button{display:inline-block;width:auto;background:var(--link);border-color:var(--link);color:var(--on);font-weight:600;cursor:pointer;padding-inline:1.1rem;text-decoration:none}
button:hover,.button:hover{filter:brightness(1.1)}
button.quiet,.button.quiet{background:var(--card);color:var(--link);border-color:var(--line)}
button.danger{background:var(--bad);border-color:var(--bad)}
.plain{background:none;color:var(--link);border-color:transparent}
.actions{display:grid;gap:.75rem;margin:.75rem 0}
.actions details{margin:0}
.compared{table-layout:fixed}
.compared th,.compared td{white-space:normal;max-width:none;overflow-wrap:anywhere}
.compared .text{white-space:pre-wrap}
td details{margin:0;border:0;background:none}
td summary,td details[open]>summary{padding:0;border:0}
.related li a,.formats li a{display:inline-block}
ul.cards{list-style:none;margin:0;padding:0;display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,17rem),1fr));gap:.75rem}
ul.cards a{display:block;height:100%;padding:1rem 1.25rem;background:var(--card);border:1px solid var(--line);border-radius:10px;text-decoration:none}
ul.cards a:hover{border-color:var(--link)}
ul.cards b{display:block;font-size:1.0625rem}
ul.cards span{color:var(--soft);font-size:.9375rem}
@media (max-width:640px){
header,main,footer{padding-left:1rem;padding-right:1rem}
h1{font-size:1.5rem}
.search{width:100%}.search input{flex:1;width:auto;min-width:0}
.card{padding:.25rem 1rem}
dl>div,dl dl>div{grid-template-columns:1fr}
dt{font-size:.8125rem}
dl dl{border-left:2px solid var(--line);padding-left:.75rem}
.sideways.phone{display:block}
th,td{padding:.5rem .625rem;max-width:14rem}
}
@media print{.skip,.search,.filters,.actions,.pages ul,footer{display:none}body{background:none}}
`

/** What allows the style sheet, and no other, in a Content-Security-Policy. */
export const STYLE_SOURCE = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`

/** The style sheet that the documentation has besides. */
export const DOCS_STYLE = `
body{overflow-wrap:anywhere}
button{max-width:100%}
.patches form,.ids .field{min-width:0}
h1 small{font-size:1rem;font-weight:400;color:var(--soft)}
h2 code{font-size:1.0625rem}
h3{font-size:.875rem;margin:1.25rem 0 .4rem;color:var(--soft)}
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
