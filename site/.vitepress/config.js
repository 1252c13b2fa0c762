import { defineConfig } from 'vitepress'

const page = (text, link) => ({ text, link })
export default defineConfig({
  title: 'rest-conventions',
  description: 'A complete REST API from a zod schema, on your own database and server',
  srcDir: 'pages',
  outDir: 'dist',
  cacheDir: '.cache',
  // Markdown for programs, which is no page.
  srcExclude: ['public/**'],
  // A name in angle brackets is a text.
  markdown: { html: false },
  ignoreDeadLinks: 'localhostLinks',
  themeConfig: {
    search: { provider: 'local' },
    nav: [
      page('Guides', '/getting-started'),
      page('Reference', '/conventions'),
      { text: 'API', link: '/reference/index.html', target: '_self' },
      page('Changes', '/changelog'),
    ],
    socialLinks: [{ icon: 'github', link: 'https://github.com/rest-conventions/rest-conventions' }],
    sidebar: [
      {
        text: 'Start',
        items: [
          page('Getting started', '/getting-started'),
          page('Serve a file', '/serve'),
          page('Existing database', '/existing-database'),
          page('A many-tenant app', '/many-tenants'),
          page('Recipes', '/recipes'),
          page('Testing', '/testing'),
        ],
      },
      {
        text: 'Guides',
        items: [
          page('Collections', '/collections'),
          page('The api', '/api'),
          page('Querying', '/querying'),
          page('Writing', '/writing'),
          page('Hooks and actions', '/hooks-and-actions'),
          page('Files', '/files'),
          page('Live lists', '/live'),
          page('Formats', '/formats'),
          page('Authentication', '/auth'),
          page('Accounts', '/accounts'),
        ],
      },
      {
        text: 'Servers',
        items: [
          page('Mounting', '/mounting'),
          page('Frameworks and platforms', '/frameworks'),
          page('Databases', '/databases'),
          page('Deploying', '/deploying'),
          page('Operating', '/operating'),
          page('Security', '/SECURITY'),
        ],
      },
      {
        text: 'Both ends',
        items: [
          page('OpenAPI', '/openapi'),
          page('Client', '/client'),
          page('Errors', '/errors'),
          page('react-admin', '/react-admin'),
          page('Refine', '/refine'),
        ],
      },
      {
        text: 'Reference',
        items: [
          page('Specification', '/specification'),
          page('Conventions', '/conventions'),
          page('Conformance', '/conformance'),
          page('What it does not do', '/what-it-does-not-do'),
          page('Compatibility', '/compatibility'),
          page('Glossary', '/glossary'),
        ],
      },
    ],
  },
})
