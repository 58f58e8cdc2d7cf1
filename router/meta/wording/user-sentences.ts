/** Sentences for callers that a server with `sessions: perUser` cannot serve: why, and who can change that. Pure. */
import type { Fault } from '../../../core/errors.ts'

/** The sentence for a Fault `user_refused`, by its `details.reason`. `name`: the server, quoted. */
export function userSentence({ details }: Fault, name: string): string {
  switch (details.reason) {
    case 'TooManyUsers':
      return `Server ${name} has an instance for each user, and ${details.max} users have one, the maximum. Try again later; whoever runs this gateway can raise users.max of the server, or end one (portolan users).`
    case 'NeedsCredentials':
      return needsCredentials(details, name)
    case 'NeedsLogin':
      return `Server ${name} is used with the account of each user, and this user has not logged in. Show the user this link, to be opened in ${details.here ? 'a browser on the machine of the gateway' : "the user's browser"}, and repeat the call after the login: ${details.page}`
    case 'LoginElsewhere':
      return `Server ${name} is used with the login of the person at the gateway's machine, and this caller came with a credential of its own. Whoever runs the gateway has to admit callers without one (portolan up without --host), or users of an identity provider (spec.auth.jwt); trying again does not help.`
    case 'LoginNeedsPerson':
      return `Server ${name} is used with the account of each user, who logs in in a browser, and this caller has a credential that no person logs in with. Log in to the gateway at its identity provider; trying again before does not help.`
    case 'NeedsToken':
      return `Server ${name} is used with a token of each user, made from the JSON Web Token that the caller logs in with, and this caller has none. Log in to the gateway at its identity provider; trying again before does not help.`
    case 'ExchangeRefused':
      return `Server ${name} is used with a token of each user, and the authorization server refuses to give one for this caller. Log in to the gateway again; if that does not help, whoever runs it has to look at spec.auth.perUser of the server.`
    default:
      return `Server ${name} has an instance for each user, and this caller is anonymous. Log in to the gateway; if it admits callers without credentials only, whoever runs it has to set spec.auth.`
  }
}

function needsCredentials({ subject, labels, lacks }: Fault['details'], name: string): string {
  if (lacks !== undefined)
    return `Server ${name} needs credentials of each user, and the Secret of ${subject} has no usable key ${lacks}. Whoever runs this gateway has to add it; trying again does not help.`
  const labelled = labels === '' ? '' : ` the labels ${labels} and`
  return `Server ${name} needs credentials of each user, and there are none of ${subject}. Whoever runs this gateway has to create a Secret in the namespace of the server, with${labelled} the annotation portolan.dev/subject: "${subject}"; trying again before does not help.`
}
