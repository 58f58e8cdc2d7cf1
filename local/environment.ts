/** The parts of the user's environment that servers and installers inherit. Neither gets tokens that are meant for other programs. Pure. */

/** Variables that servers inherit: paths, also of browsers, locale, proxies and certificates, but no tokens. */
const INHERITED =
  /^(PATH|HOME|USER|LOGNAME|SHELL|TERM|TZ|LANG|LC_\w+|TMPDIR|XDG_\w+|(https?|all|no)_proxy|SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|DOCKER_(HOST|CONTEXT|CONFIG|CERT_PATH|TLS_VERIFY)|PUPPETEER_(CACHE_DIR|EXECUTABLE_PATH)|PLAYWRIGHT_BROWSERS_PATH)$/i

/** Variables that only installers inherit: the settings of npm, uv, pip and Python, with their tokens, and those of compilers. */
const FOR_INSTALLERS =
  /^((npm|uv|pip)_.+|NODE_AUTH_TOKEN|PYTHON\w*|PYENV\w*|CC|CXX|AR|LD|(C|CPP|CXX|LD)FLAGS|PKG_CONFIG_PATH|APPDATA|LOCALAPPDATA|COMSPEC|PATHEXT)$/i
/** What tells install scripts whether and from where to download browsers and other programs: `PUPPETEER_SKIP_DOWNLOAD`, `PLAYWRIGHT_DOWNLOAD_HOST`. */
const FOR_DOWNLOADS =
  /^(\w+_SKIP_\w*(DOWNLOAD|INSTALL)|\w+_DOWNLOAD_(HOST|BASE_?URL|PATH)|\w+_(MIRROR|CDNURL)|CYPRESS_INSTALL_BINARY)$/i

type Environment = Readonly<Record<string, string>>

export function inheritedEnvironment(env: Environment): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => INHERITED.test(name)))
}

/** The values in the environment of installers that must not be logged. Short ones are settings, such as `npm_config_always_auth=true`. */
export function installerSecrets(env: Environment): string[] {
  return Object.entries(installerEnvironment(env))
    .filter(([name, value]) => /(_auth|token|secret|password)$/i.test(name) && value.length >= 8)
    .map(([, value]) => value)
}

export function installerEnvironment(env: Environment): Record<string, string> {
  const isPassed = (name: string) =>
    [INHERITED, FOR_INSTALLERS, FOR_DOWNLOADS].some(names => names.test(name))
  return Object.fromEntries(Object.entries(env).filter(([name]) => isPassed(name)))
}
