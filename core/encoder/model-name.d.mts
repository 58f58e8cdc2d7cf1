export const ADAPTER_SHA256: string
export const ADAPTER_ID: string
export const MODEL_FILE: string
