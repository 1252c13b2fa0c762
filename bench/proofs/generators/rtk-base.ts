// The api that RTK Query's code adds its endpoints to.
import { createApi, fetchBaseQuery } from '@reduxjs/toolkit/query'

/** Filters are objects of operators, which it would print as `[object Object]`. */
function printParams(params: Record<string, unknown>): string {
  const found = new URLSearchParams()
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined) continue
    if (Array.isArray(value)) for (const each of value) found.append(name, each)
    else if (typeof value !== 'object') found.append(name, `${value}`)
    else
      for (const [operator, operand] of Object.entries(Object(value)))
        found.append(`${name}[${operator}]`, `${operand}`)
  }
  return `${found}`
}

export const empty = createApi({
  baseQuery: fetchBaseQuery({ baseUrl: process.argv[2] ?? '', paramsSerializer: printParams }),
  endpoints: () => ({}),
})
