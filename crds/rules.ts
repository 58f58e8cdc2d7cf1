/** Rules that span several fields of a spec, each written as code (`broken`) and as CEL for the API server (`cel`). Pure. */

/** A spec before validation: fields may be missing or of a wrong type. */
type RawSpec = Record<string, unknown>

export type Rule = {
  reason: string
  /** Relative to the spec. */
  path: (string | number)[]
  message: string
  /** A CEL expression over `self`, the spec: true if the rule is kept. */
  cel: string
  /** Whether the rule is broken. */
  broken: (spec: RawSpec) => boolean
}

const SOURCES = ['npm', 'pypi', 'image', 'remote', 'command'] as const

const SOURCE_LIST = 'npm, pypi, image, remote or command'
const USER_CREDENTIALS = ['secrets', 'tokenExchange', 'oauth'] as const
/** Whether the server is reached over HTTP. */
const HTTP_CEL = "(has(self.remote) || (has(self.image) && self.image.transport == 'http'))"
/** Whether the lists are the same for all users. */
const ONE_LIST_CEL = '!has(self.discovery) || !has(self.discovery.perUser) || !self.discovery.perUser'

export const SERVER_RULES: readonly Rule[] = [
  {
    reason: 'SourceMissing',
    path: [],
    message: `needs a source: give one of ${SOURCE_LIST}`,
    cel: SOURCES.map(source => `has(self.${source})`).join(' || '),
    broken: spec => sourcesOf(spec).length === 0,
  },
  {
    reason: 'SourceAmbiguous',
    path: [],
    message: `must have exactly one of ${SOURCE_LIST}: remove the others`,
    cel: `[${SOURCES.map(source => `has(self.${source})`).join(', ')}].filter(given, given).size() <= 1`,
    broken: spec => sourcesOf(spec).length > 1,
  },
  {
    reason: 'PortMissing',
    path: ['image', 'port'],
    message: 'is required where image.transport is http: give the port that the server listens on',
    cel: "!has(self.image) || self.image.transport != 'http' || has(self.image.port)",
    broken: spec => record(spec.image).transport === 'http' && record(spec.image).port === undefined,
  },
  {
    reason: 'CommandMissing',
    path: ['image', 'command'],
    message: "is required where image.transport is stdio: Kubernetes cannot tell an image's entrypoint",
    cel: "!has(self.image) || self.image.transport != 'stdio' || (has(self.image.command) && size(self.image.command) > 0)",
    broken: spec =>
      isObject(spec.image) && (spec.image.transport ?? 'stdio') === 'stdio' && !filled(spec.image.command),
  },
  {
    reason: 'NotApplicable',
    path: ['headers'],
    message: 'is for servers over HTTP: give a stdio server its credentials under env',
    cel: `!has(self.headers) || size(self.headers) == 0 || ${HTTP_CEL}`,
    broken: spec => filled(spec.headers) && isStdio(spec),
  },
  {
    reason: 'NotApplicable',
    path: ['auth', 'oauth'],
    message: 'is for servers over HTTP: give a stdio server its credentials under env',
    cel: `!has(self.auth) || !has(self.auth.oauth) || ${HTTP_CEL}`,
    broken: spec => record(spec.auth).oauth !== undefined && isStdio(spec),
  },
  {
    reason: 'MissingField',
    path: ['auth'],
    message: 'must have oauth or perUser: give one, or remove it',
    cel: '!has(self.auth) || has(self.auth.oauth) || has(self.auth.perUser)',
    broken: ({ auth }) => isObject(auth) && auth.oauth === undefined && auth.perUser === undefined,
  },
  {
    reason: 'NotApplicable',
    path: ['auth', 'perUser'],
    message: 'is for servers with sessions: perUser: set that, or remove it',
    cel: "!has(self.auth) || !has(self.auth.perUser) || (has(self.sessions) && self.sessions == 'perUser')",
    broken: spec => record(spec.auth).perUser !== undefined && spec.sessions !== 'perUser',
  },
  {
    reason: 'MissingField',
    path: ['auth', 'perUser'],
    message: `must have exactly one of ${USER_CREDENTIALS.join(', ')}`,
    cel: `!has(self.auth) || !has(self.auth.perUser) || [${USER_CREDENTIALS.map(field => `has(self.auth.perUser.${field})`).join(', ')}].filter(given, given).size() == 1`,
    broken: spec => isObject(record(spec.auth).perUser) && userCredentials(spec).length !== 1,
  },
  {
    reason: 'NotApplicable',
    path: ['auth', 'perUser', 'secrets', 'headers'],
    message: 'is for servers over HTTP: a stdio server gets all keys of the Secret as environment',
    cel: `!has(self.auth) || !has(self.auth.perUser) || !has(self.auth.perUser.secrets) || !has(self.auth.perUser.secrets.headers) || ${HTTP_CEL}`,
    broken: spec => record(record(record(spec.auth).perUser).secrets).headers !== undefined && isStdio(spec),
  },
  ...(['tokenExchange', 'oauth'] as const).map(field => ({
    reason: 'NotApplicable',
    path: ['auth', 'perUser', field],
    message: 'is for servers over HTTP: give the users of a stdio server their credentials in secrets',
    cel: `!has(self.auth) || !has(self.auth.perUser) || !has(self.auth.perUser.${field}) || ${HTTP_CEL}`,
    broken: (spec: RawSpec) => userCredentials(spec).includes(field) && isStdio(spec),
  })),
  {
    reason: 'NotApplicable',
    path: ['env'],
    message: 'is for processes that Portolan starts: give a remote server its credentials under headers',
    cel: '!has(self.env) || size(self.env) == 0 || !has(self.remote)',
    broken: spec => filled(spec.env) && sourcesOf(spec).join() === 'remote',
  },
  {
    reason: 'NotApplicable',
    path: ['envFrom'],
    message: 'is for processes that Portolan starts: give a remote server its credentials under headers',
    cel: '!has(self.envFrom) || size(self.envFrom) == 0 || !has(self.remote)',
    broken: spec => filled(spec.envFrom) && sourcesOf(spec).join() === 'remote',
  },
  ...['pod', 'egress'].map(field => ({
    reason: 'NotApplicable',
    path: [field],
    message: 'is for servers that run as pods: remove it',
    cel: `!has(self.${field}) || ${field === 'egress' ? 'size(self.egress) == 0 || ' : ''}!(has(self.remote) || has(self.command))`,
    broken: (spec: RawSpec) =>
      (field === 'pod' ? spec.pod !== undefined : filled(spec.egress)) &&
      ['remote', 'command'].includes(sourcesOf(spec).join()),
  })),
  {
    reason: 'NotApplicable',
    path: ['tls'],
    message: 'is for servers behind the bridge (npm, pypi, image with transport stdio): remove it',
    cel: "!has(self.tls) || !self.tls || has(self.npm) || has(self.pypi) || (has(self.image) && self.image.transport != 'http')",
    broken: spec =>
      spec.tls === true &&
      (!isStdio(spec) || sourcesOf(spec).join() === 'command') &&
      sourcesOf(spec).length > 0,
  },
  {
    reason: 'NotApplicable',
    path: ['storage'],
    message: 'keeps the installed package of an npm or pypi server: remove it',
    cel: '!has(self.storage) || has(self.npm) || has(self.pypi)',
    broken: spec =>
      spec.storage !== undefined &&
      sourcesOf(spec).length > 0 &&
      !sourcesOf(spec).some(source => source === 'npm' || source === 'pypi'),
  },
  {
    reason: 'NotApplicable',
    path: ['users'],
    message: 'is for servers with sessions: perUser: set that, or remove it',
    cel: "!has(self.users) || (has(self.sessions) && self.sessions == 'perUser')",
    broken: spec => spec.users !== undefined && spec.sessions !== 'perUser',
  },
  {
    reason: 'NotApplicable',
    path: ['discovery', 'perUser'],
    message: 'is for servers with sessions: perUser: set that, or remove it',
    cel: `${ONE_LIST_CEL} || (has(self.sessions) && self.sessions == 'perUser')`,
    broken: spec => record(spec.discovery).perUser === true && spec.sessions !== 'perUser',
  },
  {
    reason: 'NotApplicable',
    path: ['discovery', 'perUser'],
    message: 'cannot be used with tools.pin, which approves one list for all users: remove one of them',
    cel: `${ONE_LIST_CEL} || !has(self.tools) || !has(self.tools.pin)`,
    broken: spec => record(spec.discovery).perUser === true && record(spec.tools).pin !== undefined,
  },
  {
    reason: 'OutOfRange',
    path: ['scaling', 'min'],
    message: 'must not be greater than scaling.max',
    cel: '!has(self.scaling) || !has(self.scaling.min) || self.scaling.min <= self.scaling.max',
    broken: spec => Number(record(spec.scaling).min ?? 0) > Number(record(spec.scaling).max ?? 1),
  },
]

/** The rules as `x-kubernetes-validations`. */
export function toValidations(rules: readonly Rule[]) {
  return rules.map(({ path, message, cel }) => ({
    rule: cel,
    message,
    ...(path.length === 0 ? {} : { fieldPath: `.${path.join('.')}` }),
  }))
}

/** The sources that a spec has. A field that is null counts as absent. */
function sourcesOf(spec: RawSpec): (typeof SOURCES)[number][] {
  return SOURCES.filter(source => spec[source] !== undefined && spec[source] !== null)
}

/** The fields of `auth.perUser` that a spec has. */
function userCredentials(spec: RawSpec): (typeof USER_CREDENTIALS)[number][] {
  const given = record(record(spec.auth).perUser)
  return USER_CREDENTIALS.filter(field => given[field] !== undefined && given[field] !== null)
}

/** Whether the server speaks stdio; false if it has no source or several. */
function isStdio(spec: RawSpec): boolean {
  const [source, ...others] = sourcesOf(spec)
  if (source === undefined || others.length > 0 || source === 'remote') return false
  return source !== 'image' || record(spec.image).transport !== 'http'
}

/** Whether a value is a list with entries. */
function filled(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0
}

/** The value if it is an object, else an empty object. */
function record(value: unknown): RawSpec {
  return isObject(value) ? value : {}
}

function isObject(value: unknown): value is RawSpec {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
