/** Types and reasons of status conditions as constants, and the schema of a condition. */
import * as z from 'zod'

export const CONDITION = {
  accepted: 'Accepted',
  available: 'Available',
  progressing: 'Progressing',
  ready: 'Ready',
  toolsDiscovered: 'ToolsDiscovered',
  toolsApproved: 'ToolsApproved',
  textVisible: 'TextVisible',
  authReady: 'AuthReady',
  accessResolved: 'AccessResolved',
} as const

/** Reasons in conditions, in problems and in what agents see of a server. */
export const REASON = {
  // Accepted
  accepted: 'Accepted',
  invalid: 'Invalid',
  clusterOnly: 'ClusterOnly',
  localOnly: 'LocalOnly',
  nameTaken: 'NameTaken',
  operatorNamespace: 'OperatorNamespace',
  notPermitted: 'NotPermitted',
  notApplicable: 'NotApplicable',
  codeNotEnabled: 'CodeNotEnabled',
  codeNeedsMemory: 'CodeNeedsMemory',
  tooLarge: 'TooLarge',
  notEnforced: 'NotEnforced',
  certificateInvalid: 'CertificateInvalid',
  notPinned: 'NotPinned',
  anonymousAndExposed: 'AnonymousAndExposed',
  callersUnknown: 'CallersUnknown',
  exchangeNotAllowed: 'ExchangeNotAllowed',
  secretNotFound: 'SecretNotFound',
  configMapNotFound: 'ConfigMapNotFound',
  keyNotFound: 'KeyNotFound',
  openToPods: 'OpenToPods',
  storageSharedByPods: 'StorageSharedByPods',
  // Available and Progressing
  available: 'Available',
  complete: 'Complete',
  // Ready, and Available and Progressing if they are false
  ready: 'Ready',
  asleep: 'Asleep',
  waking: 'Waking',
  starting: 'Starting',
  suspended: 'Suspended',
  authRequired: 'AuthRequired',
  crashLooping: 'CrashLooping',
  /** Spelled as the kubelet does. */
  oomKilled: 'OOMKilled',
  imagePullFailed: 'ImagePullFailed',
  installFailed: 'InstallFailed',
  integrityChanged: 'IntegrityChanged',
  unschedulable: 'Unschedulable',
  storagePending: 'StoragePending',
  podRejected: 'PodRejected',
  updating: 'Updating',
  updateQueued: 'UpdateQueued',
  tooManyUsers: 'TooManyUsers',
  noServersSelected: 'NoServersSelected',
  noServersReady: 'NoServersReady',
  noTools: 'NoTools',
  noReplicas: 'NoReplicas',
  routerStale: 'RouterStale',
  startTimeout: 'StartTimeout',
  unreachable: 'Unreachable',
  notAccepted: 'NotAccepted',
  // Ready, of scripts
  toolNotFound: 'ToolNotFound',
  noGateway: 'NoGateway',
  // ToolsDiscovered
  discovered: 'Discovered',
  discoveryFailed: 'DiscoveryFailed',
  // ToolsApproved
  approved: 'Approved',
  toolsChanged: 'ToolsChanged',
  toolsHeld: 'ToolsHeld',
  // TextVisible
  hiddenCharacters: 'HiddenCharacters',
  // AuthReady
  anonymous: 'Anonymous',
  keysStale: 'KeysStale',
  keysUnavailable: 'KeysUnavailable',
  issuerMismatch: 'IssuerMismatch',
  // AccessResolved
  resolved: 'Resolved',
  noRules: 'NoRules',
  ruleMatchesNothing: 'RuleMatchesNothing',
  toolsUnreachable: 'ToolsUnreachable',
} as const

/** metav1.Condition. */
export const condition = z.strictObject({
  type: z
    .string()
    .max(316)
    .describe(
      'Accepted, Available, Progressing, Ready, ToolsDiscovered, ToolsApproved, TextVisible, AuthReady or AccessResolved.',
    ),
  status: z.enum(['True', 'False', 'Unknown']).describe('True, False or Unknown.'),
  reason: z.string().max(1_024).describe('One word in CamelCase.'),
  message: z.string().max(32_768).describe('A sentence for people.'),
  observedGeneration: z
    .int()
    .min(0)
    .optional()
    .describe('The generation of the spec that the condition refers to.'),
  lastTransitionTime: z.iso.datetime({ offset: true }).describe('When the status last changed.'),
})

/** A map list by type: with server-side apply, each condition can then have a different field manager. */
export const conditions = z
  .array(condition)
  .max(16)
  .optional()
  .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] })

export type Condition = z.output<typeof condition>
