/** Checks the `Mcp-Param-*` headers of 2026-07-28 against the arguments that they repeat. Pure. */
import type { JsonObject } from '../../json.ts'
import { decodeHeaderValue } from '../protocol/header-value.ts'
import type { RequestId } from '../protocol/json-rpc.ts'
import { type ParamHeader, paramHeadersOf, paramText, paramValue } from '../protocol/param-headers.ts'
import { headerOf, type RequestHeaders } from './headers.ts'
import { type Rejected, rejectMismatch } from './rejection.ts'

const DECIMAL = /^-?\d+(\.\d+)?$/

/**
 * Rejects with 400 and −32020 if an argument marked with `x-mcp-header` has no header, or another value in it.
 * Source: SEP-2243 and `validateMcpParamHeaders` of the 2.x SDK.
 */
export function checkParamHeaders(
  headers: RequestHeaders,
  id: RequestId,
  schema: JsonObject,
  args: unknown,
): Rejected | undefined {
  for (const declared of paramHeadersOf(schema)) {
    const problem = disagreement(headers, declared, paramValue(declared, args))
    if (problem) return rejectMismatch(id, declared.header, problem)
  }
  return undefined
}

function disagreement(
  headers: RequestHeaders,
  { header, path, numeric }: ParamHeader,
  value: unknown,
): string | undefined {
  const text = paramText(value)
  if (text === undefined) return undefined
  const body = `the body carries ${path.join('.')}=${JSON.stringify(value)}`
  const given = headerOf(headers, header.toLowerCase())
  if (given === undefined) return `${body} but the ${header} header is absent`
  const decoded = decodeHeaderValue(given)
  if (decoded === undefined) return `the ${header} header carries an invalid Base64 sentinel value`
  const equal = numeric && DECIMAL.test(decoded) ? Number(decoded) === value : decoded === text
  return equal ? undefined : `the ${header} header decodes to ${JSON.stringify(decoded)} but ${body}`
}
