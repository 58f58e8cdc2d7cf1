/** Which proxy leads where: the variables, the hosts that are reached directly, credentials. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clusterProxies, hasCredentials, readProxies } from './proxies.ts'

const PROXY = 'http://proxy.example.com:3128'
const through = (env: Record<string, string>, url: string) => readProxies(env)?.(new URL(url))?.origin

test('each scheme has its proxy, and variables in lower case take precedence', () => {
  const env = { HTTPS_PROXY: PROXY, HTTP_PROXY: 'http://other:1', http_proxy: 'plain.example.com:80' }
  assert.equal(through(env, 'https://mcp.example.com/mcp'), PROXY)
  assert.equal(through(env, 'http://mcp.example.com/mcp'), 'http://plain.example.com')
  assert.equal(readProxies({}), undefined)
  assert.equal(through({ HTTPS_PROXY: PROXY }, 'http://mcp.example.com/'), undefined)
})

const DIRECT: Record<string, { direct: string[]; proxied: string[] }> = {
  'example.com': {
    direct: ['https://example.com/', 'https://a.example.com/', 'https://A.Example.com:8443/'],
    proxied: ['https://notexample.com/', 'https://example.com.evil.net/'],
  },
  '.example.com': { direct: ['https://a.example.com/'], proxied: ['https://example.com/'] },
  '*.example.com': { direct: ['https://a.b.example.com/'], proxied: ['https://example.com/'] },
  'example.com:8443': { direct: ['https://example.com:8443/'], proxied: ['https://example.com/'] },
  'example.com:443': { direct: ['https://example.com/'], proxied: ['https://example.com:8443/'] },
  '10.0.0.0/8': { direct: ['https://10.1.2.3/'], proxied: ['https://11.1.2.3/', 'https://ten.example.com/'] },
  'fd00::/8': { direct: ['https://[fd00::1]/'], proxied: ['https://[fe00::1]/'] },
  '[fd00::1]:443': { direct: ['https://[fd00::1]/'], proxied: ['https://[fd00::2]/'] },
  ' a.example.com, b.example.com c.example.com ': {
    direct: ['https://a.example.com/', 'https://b.example.com/', 'https://c.example.com/'],
    proxied: ['https://d.example.com/'],
  },
  '*': { direct: ['https://example.com/'], proxied: [] },
}

for (const [list, { direct, proxied }] of Object.entries(DIRECT))
  test(`NO_PROXY=${list} lists the hosts that are reached directly`, () => {
    const env = { HTTPS_PROXY: PROXY, NO_PROXY: list }
    for (const url of direct) assert.equal(through(env, url), undefined, url)
    for (const url of proxied) assert.equal(through(env, url), PROXY, url)
  })

test('this machine is reached directly, and in clusters Services and the API server too', () => {
  for (const url of ['https://localhost/', 'https://127.0.0.1:1/', 'https://[::1]/'])
    assert.equal(through({ HTTPS_PROXY: PROXY }, url), undefined, url)
  const inCluster = clusterProxies({ HTTPS_PROXY: PROXY, KUBERNETES_SERVICE_HOST: 'fd00::1' })
  for (const url of [
    'https://mcp-x.team.svc:8080/',
    'https://x.team.svc.cluster.local/',
    'https://[fd00::1]/',
  ])
    assert.equal(inCluster?.(new URL(url)), undefined, url)
  assert.equal(inCluster?.(new URL('https://mcp.example.com/'))?.origin, PROXY)
})

test('credentials are in the URL or given separately, and no error repeats them', () => {
  const ann = `Basic ${Buffer.from('ann:p@ss').toString('base64')}`
  const env = { HTTPS_PROXY: 'http://ann:p%40ss@proxy.example.com:3128' }
  assert.deepEqual(readProxies(env)?.(new URL('https://a.example.com/')), {
    origin: PROXY,
    authorization: ann,
  })
  const separate = clusterProxies({ HTTPS_PROXY: PROXY }, { username: 'ann', password: 'p@ss' })
  assert.equal(separate?.(new URL('https://a.example.com/'))?.authorization, ann)
  assert.deepEqual([hasCredentials(env.HTTPS_PROXY), hasCredentials(PROXY)], [true, false])
  for (const wrong of ['socks5://ann:p%40ss@proxy', 'http://ann:p%40ss@', 'http://ann:p%ss@proxy'])
    assert.throws(
      () => readProxies({ HTTPS_PROXY: wrong }),
      ({ message }: Error) => /^HTTPS_PROXY /.test(message) && !/ann|ss@/.test(message),
      wrong,
    )
})
