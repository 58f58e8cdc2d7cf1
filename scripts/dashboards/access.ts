/** The dashboard of callers: what is allowed, denied and limited, logins, issuers' keys and the audit stream. */
import type { DashboardContent, PanelContent } from './content.ts'
import { GATEWAY, increase, NAMESPACE, ROUTERS, rate } from './queries.ts'

const DECISIONS = 'portolan_access_decisions_total'
const LOST = 'portolan_audit_lines_lost_total'
const FETCHED = 'portolan_issuer_keys_fetched_total'
const DENIED = 'decision="denied"'
const LIMITED = 'decision="limited"'
const FAILED = 'decision="unauthenticated"'

export const access: DashboardContent = {
  name: 'access',
  title: 'Portolan / Access',
  description:
    'Who is let in, and what is denied and limited, by rule and reason; the audit stream says by whom.',
  variables: [NAMESPACE, GATEWAY],
  rows: [
    { title: 'At a glance', panels: glance() },
    { title: 'Decisions', panels: decisions() },
    { title: 'Keys and audit', panels: [...keys(), ...audit()] },
  ],
}

function glance(): PanelContent[] {
  return [
    count(
      'Denied',
      DENIED,
      'Requests in the time range for what exists, but not for their caller. Many: see the reasons below, and in the audit stream who asked for what.',
    ),
    count(
      'Failed logins',
      FAILED,
      'Requests in the time range without a usable credential. Each client that logs in begins with one (NoToken). Many others: see the reasons below.',
    ),
    count(
      'Limited',
      LIMITED,
      'Requests, calls and failed logins in the time range beyond a limit. Many: an agent runs in a loop, or the limit in spec.rateLimits is too low.',
    ),
    {
      kind: 'number',
      title: 'Audit lines lost',
      description:
        'Audit lines in the time range that could not be written. Not 0: whoever reads the standard output of the routers is too slow; see the alert PortolanAuditLinesLost.',
      unit: 'none',
      queries: [[`sum(${increase(LOST, ROUTERS)})`]],
      alarm: { at: 1 },
    },
  ]
}

function count(title: string, decision: string, description: string): PanelContent {
  const expr = `sum(${increase(DECISIONS, `${ROUTERS}, ${decision}`)}) or vector(0)`
  return { kind: 'number', title, description, unit: 'none', queries: [[expr]] }
}

function decisions(): PanelContent[] {
  return [
    by(
      'Calls by rule',
      'rule',
      'decision="allowed", rule!=""',
      'Allowed calls by the first rule of spec.access that grants them. A rule that is not here is not used: remove it, or see why it matches nobody.',
    ),
    by(
      'Denials by reason',
      'reason',
      DENIED,
      'NotGranted: no rule grants it to this caller; OtherNamespace, MissingScopes: the credential is good, but not for this. The audit stream names caller and target.',
    ),
    by(
      'Failed logins by reason',
      'reason',
      FAILED,
      'UnknownToken, Unverifiable: wrong or forged; Expired: the client does not renew it; OtherAudience: it was issued for something else; KeysUnavailable: see the keys below; ReviewDenied: of a deleted pod; ReviewUnavailable: the API server does not answer the routers, see their log.',
    ),
    by(
      'Limits hit',
      'rule',
      LIMITED,
      'Refused requests by the limit of spec.rateLimits that they hit. The audit stream says which callers; raise the limit if they need it.',
    ),
  ]
}

/** A chart of the decisions per second by a label; 0 if there were none. */
function by(title: string, label: string, decision: string, description: string): PanelContent {
  const expr = `sum by (${label}) (${rate(DECISIONS, `${ROUTERS}, ${decision}`)}) or vector(0)`
  return { kind: 'lines', title, description, unit: 'ops', queries: [[expr, `{{${label}}}`]] }
}

function keys(): PanelContent[] {
  return [
    {
      kind: 'lines',
      title: 'Age of keys',
      description:
        'Time since the public keys of each issuer were fetched. Above an hour: the router cannot reach the issuer; after 24 hours its tokens are answered 503.',
      unit: 's',
      queries: [
        [
          `max by (gateway, issuer) (portolan_issuer_keys_age_seconds{${ROUTERS}}) or vector(0)`,
          '{{gateway}} {{issuer}}',
        ],
      ],
    },
    {
      kind: 'lines',
      title: 'Fetches of keys that failed',
      description:
        'Fetches of the public keys of each issuer that failed. The log of the router says why: DNS, a NetworkPolicy, a certificate, or another issuer in the metadata.',
      unit: 'ops',
      queries: [
        [
          `sum by (gateway, issuer) (${rate(FETCHED, `${ROUTERS}, outcome="failed"`)}) or vector(0)`,
          '{{gateway}} {{issuer}}',
        ],
      ],
    },
  ]
}

function audit(): PanelContent[] {
  return [
    {
      kind: 'lines',
      title: 'Audit lines lost by router',
      description:
        'Audit lines per second that could not be written. With spec.audit.onOverflow: Refuse requests get 503 instead, and nothing is lost.',
      unit: 'ops',
      queries: [[`sum by (namespace, pod) (${rate(LOST, ROUTERS)})`, '{{namespace}}/{{pod}}']],
    },
  ]
}
