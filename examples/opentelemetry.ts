// A span of OpenTelemetry for each request, after the stable semantic conventions of HTTP servers
// (https://opentelemetry.io/docs/specs/semconv/http/http-spans/). The SDK, its exporter and its
// propagator are the host's: register them first.
import {
  type Attributes,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
} from '@opentelemetry/api'
import { onRequest, onResponse, type RequestEvent, type ResponseEvent } from 'rest-conventions'

/** The methods of RFC 9110 and RFC 5789; a span's name takes no other from a client. */
const METHODS = new Set([
  'CONNECT',
  'DELETE',
  'GET',
  'HEAD',
  'OPTIONS',
  'PATCH',
  'POST',
  'PUT',
  'TRACE',
])

/**
 * Traces every request of every api in this process: `traceRequests(trace.getTracer('cars'))`. A span
 * ends when the answer is made, before its body is sent. It is not the active one while work is done.
 * @returns what ends that.
 */
export function traceRequests(tracer: Tracer): () => void {
  // Not by the request's id: a client may send one twice.
  const spans = new WeakMap<RequestEvent['request'], Span>()
  const ends = [
    onRequest(event => spans.set(event.request, begin(tracer, event))),
    onResponse(event => {
      const span = spans.get(event.request)
      if (span) end(span, event)
    }),
  ]
  return () => {
    for (const each of ends) each()
  }
}

function begin(tracer: Tracer, { request, client, method, route }: RequestEvent): Span {
  const { headers, prefix, target, secure, address } = request
  const known = METHODS.has(method)
  const [path = '', query] = target.split('?', 2)
  const attributes: Attributes = {
    'http.request.method': known ? method : '_OTHER',
    'url.scheme': secure ? 'https' : 'http',
    'url.path': prefix + path,
  }
  if (!known) attributes['http.request.method_original'] = method
  // Names of filters tell what was asked; their values may be of people.
  if (query) attributes['url.query'] = query.replaceAll(/=[^&]*/g, '=REDACTED')
  if (client !== undefined) attributes['client.address'] = client
  if (address !== undefined) attributes['network.peer.address'] = address
  if (headers['user-agent'] !== undefined) {
    attributes['user_agent.original'] = headers['user-agent']
  }
  const name = [known ? method : 'HTTP']
  if (route !== undefined) {
    attributes['http.route'] = prefix + route
    name.push(prefix + route)
  }
  const parent = propagation.extract(ROOT_CONTEXT, headers)
  return tracer.startSpan(name.join(' '), { kind: SpanKind.SERVER, attributes }, parent)
}

function end(span: Span, { status, error }: ResponseEvent): void {
  span.setAttribute('http.response.status_code', status)
  // What a client did wrong is no failure of the server.
  if (status >= 500) {
    span.setStatus({ code: SpanStatusCode.ERROR })
    span.setAttribute('error.type', String(error?.status ?? status))
  }
  span.end()
}
