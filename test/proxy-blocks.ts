// The blocks of docs/deploying.md as whole configurations of their programs.

/** A proxy: the language of its block, what stands around its lines, and what checks and runs the whole. */
export interface Proxy {
  readonly language: string
  config(text: string, folder: string): string
  check(file: string, folder: string): readonly string[]
  run(file: string, folder: string): readonly string[]
}

/** The modules of Apache that its lines need. */
const MODULES = ['mpm_event', 'authz_core', 'proxy', 'proxy_http', 'headers']

/** By the name of the program. */
export const PROXIES: Readonly<Record<string, Proxy>> = {
  nginx: {
    language: 'nginx',
    config: text => `
daemon off;
user root;
pid nginx.pid;
error_log stderr;
events {}
http {
  access_log off;
  client_body_temp_path body;
  proxy_temp_path proxy;
  ${text}
}`,
    check: (file, folder) => ['-t', '-q', '-p', folder, '-c', file],
    run: (file, folder) => ['-p', folder, '-c', file],
  },
  haproxy: {
    language: 'haproxy',
    config: text => text,
    check: file => ['-c', '-q', '-f', file],
    run: file => ['-f', file],
  },
  apache2: {
    language: 'apache',
    config: (text, folder) => `
ServerName localhost
PidFile apache2.pid
DefaultRuntimeDir ${folder}
ErrorLog error.log
${MODULES.map(name => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`).join('\n')}
Listen *:80
${text}`,
    check: (file, folder) => ['-t', '-d', folder, '-f', file],
    run: (file, folder) => ['-D', 'FOREGROUND', '-d', folder, '-f', file],
  },
  caddy: {
    language: 'caddyfile',
    config: text => `{\n  admin off\n}\n${text}`,
    check: file => ['validate', '--adapter', 'caddyfile', '--config', file],
    run: file => ['run', '--adapter', 'caddyfile', '--config', file],
  },
}
