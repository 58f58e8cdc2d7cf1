/** Options that several commands share. */
import { statSync } from 'node:fs'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { OutputFormat } from './output.ts'

export const DEFAULT_PORT = 8080
const DEFAULT_URL = `http://127.0.0.1:${DEFAULT_PORT}`

export type OutputOption = { output: OutputFormat }
export type UrlOption = { url: string }
export type ManifestOptions = { gateway?: string; secrets?: string }

/** The options of a command that sends requests to a gateway. */
export type AskOptions = UrlOption & OutputOption & ManifestOptions

/** Adds the last arguments and options of a command that uses a gateway: a running one, or its own. */
export function withGateway(command: Command): Command {
  return command
    .argument(
      '[paths...]',
      'manifests or client configurations to start for this command; default: use the gateway at --url',
    )
    .addOption(urlOption())
    .addOption(gatewayOption())
    .addOption(secretsOption())
    .addOption(outputOption())
}

export function outputOption(): Option {
  return new Option('-o, --output <format>', 'format of the output')
    .choices(['table', 'json'])
    .default('table')
}

export function urlOption(): Option {
  return new Option('--url <url>', 'URL of a running gateway').default(DEFAULT_URL)
}

export function gatewayOption(): Option {
  return new Option('--gateway <name>', 'which McpGateway to use, if there are several')
}

/** For commands that use this machine unless a namespace or context is given. */
export function namespaceOption(): Option {
  return new Option('-n, --namespace <name>', 'use this namespace of a cluster instead of this machine')
}

export function contextOption(): Option {
  return new Option(
    '--context <name>',
    'the context of the kubeconfig that names the cluster; default: the current one, or in a pod its own cluster',
  )
}

export function secretsOption(): Option {
  return new Option('--secrets <dir>', 'folder with the values of Secrets, in files <name>/<key>').argParser(
    existingFolder,
  )
}

function existingFolder(path: string): string {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path
  throw new InvalidArgumentError('there is no such folder.')
}

/** A parser for commander's options: a whole number from `from` to `to`. */
export function wholeNumber(from: number, to: number): (text: string) => number {
  return text => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= from && value <= to) return value
    throw new InvalidArgumentError(`must be a whole number from ${from} to ${to}.`)
  }
}
