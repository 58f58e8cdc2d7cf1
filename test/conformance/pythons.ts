/** The Python SDKs that are clients in tests, each with the eras that it speaks. */

export const PYTHONS = [
  { requirement: 'mcp==1.30.0', script: 'sdk1.py', mode: 'legacy', protocol: '2025-11-25' },
  { requirement: 'mcp==2.3.0', script: 'sdk2.py', mode: 'legacy', protocol: '2025-11-25' },
  { requirement: 'mcp==2.3.0', script: 'sdk2.py', mode: 'auto', protocol: '2026-07-28' },
] as const
