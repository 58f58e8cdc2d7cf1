/** The five sources of an McpServer: an npm or PyPI package, an image, a remote URL, a command of the laptop. */
import * as z from 'zod'

const args = z.array(z.string().max(32_768)).max(256).default([]).describe('Arguments of the server.')

const packageVersion = z
  .string()
  .max(128)
  .regex(/^([0-9A-Za-z][0-9A-Za-z.!+_-]*)?$/, 'must be an exact version, such as "1.2.3", not a range')
  .default('')
  .describe('The exact version; if empty, the newest one when the package is first installed.')

const bin = z
  .string()
  .max(256)
  .regex(/^([0-9A-Za-z_.][0-9A-Za-z_.-]*)?$/, 'must be the name of an executable that the package installs')
  .default('')
  .describe('The executable to start, if the package installs several.')

const registry = z
  .string()
  .max(2_048)
  .regex(
    /^https?:\/\/[^\s/@]+(\/\S*)?$/,
    'must be a URL that begins with https:// or http://, without user or password',
  )
  .optional()

export const npm = z
  .strictObject({
    package: z
      .string()
      .max(214)
      .regex(
        /^(@[a-z0-9~][a-z0-9._~-]*\/)?[a-zA-Z0-9~][a-zA-Z0-9._~-]*$/,
        'must be the name of an npm package alone, such as "@acme/mcp"; its version goes into "version"',
      )
      .describe('Name of the package.'),
    version: packageVersion,
    registry: registry.describe('The registry to install from, instead of the default one.'),
    bin,
    args,
  })
  .describe('A server from npm, connected over stdio.')

export const pypi = z
  .strictObject({
    package: z
      .string()
      .max(214)
      .regex(
        /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9._, -]+\])?$/,
        'must be the name of a PyPI package alone, such as "mcp-server-git"; its version goes into "version"',
      )
      .describe('Name of the package; extras in brackets.'),
    version: packageVersion,
    index: registry.describe('The index to install from (PEP 503), instead of the default one.'),
    bin,
    args,
  })
  .describe('A server from PyPI, connected over stdio.')

export const image = z
  .strictObject({
    name: z
      .string()
      .max(1_024)
      .regex(
        /^[a-zA-Z0-9][a-zA-Z0-9._:/@-]*$/,
        'must be the name of a container image, such as "ghcr.io/acme/mcp:1.4"',
      )
      .describe('The image with its tag or digest.'),
    command: z
      .array(z.string().max(32_768))
      .max(256)
      .default([])
      .describe(
        "What to start. Required for stdio: an image's entrypoint cannot be read through Kubernetes.",
      ),
    args,
    transport: z
      .enum(['stdio', 'http'])
      .default('stdio')
      .describe('The transport of the server: stdio, or http in clusters only.'),
    port: z
      .int()
      .min(1)
      .max(65_535)
      .optional()
      .describe('The port it listens on. Required for http. Clusters only.'),
    path: z
      .string()
      .max(1_024)
      .regex(/^\/\S*$/, 'must begin with "/", such as "/mcp"')
      .default('/mcp')
      .describe('The path of its endpoint, for http. Clusters only.'),
  })
  .describe('A server in a container image.')

export const remote = z
  .strictObject({
    url: z
      .string()
      .max(2_048)
      .regex(/^https?:\/\/[^\s/?#]+[^\s]*$/, {
        error: 'must be a URL that begins with https:// or http://',
        abort: true,
      })
      .refine(url => URL.canParse(url), { error: 'must be a valid URL' })
      .refine(url => !/^https?:\/\/[^/?#]*@/.test(url), {
        error: 'must not contain a user or password: send them as a header with valueFrom.secretKeyRef',
      })
      .meta({
        'x-kubernetes-validations': [
          { rule: "!self.matches('^https?://') || isURL(self)", message: 'must be a valid URL' },
          {
            rule: "!self.matches('^https?://[^/?#]*@')",
            message: 'must not contain a user or password: send them as a header with valueFrom.secretKeyRef',
          },
        ],
      })
      .describe('The MCP endpoint.'),
    transport: z
      .enum(['streamable-http', 'sse'])
      .default('streamable-http')
      .describe('streamable-http, or sse for servers with the deprecated HTTP+SSE transport.'),
  })
  .describe('A server that runs elsewhere.')

export const command = z
  .strictObject({
    run: z.string().min(1).max(4_096).describe('The program: a name on the PATH or a path.'),
    args,
    cwd: z
      .string()
      .min(1)
      .max(4_096)
      .default('.')
      .describe('Its working directory, relative to the manifest.'),
  })
  .describe('A program on this machine, connected over stdio. On a laptop only.')
