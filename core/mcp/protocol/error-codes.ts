/** The error codes of JSON-RPC and of MCP. */
export const PARSE_ERROR = -32700
export const INVALID_REQUEST = -32600
export const METHOD_NOT_FOUND = -32601
export const INVALID_PARAMS = -32602
export const INTERNAL_ERROR = -32603
/** Not assigned by the specification: the SDKs use it for transport errors. */
export const TRANSPORT_ERROR = -32000
export const SESSION_NOT_FOUND = -32001
/** 2025 era only; 2026-07-28 uses INVALID_PARAMS instead. */
export const RESOURCE_NOT_FOUND = -32002
export const HEADER_MISMATCH = -32020
/** The server's question needs a capability that the client did not declare. */
export const MISSING_CAPABILITY = -32021
/** 2025 era only: the user has to visit a page first. */
export const URL_ELICITATION_REQUIRED = -32042
export const UNSUPPORTED_VERSION = -32022
