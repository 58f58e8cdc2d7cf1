/** Servers listen on IPv6 and IPv4, and the addresses of IPv4 clients are written as IPv4 addresses. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { test } from 'node:test'
import { ANY_ADDRESS, listenOn, peerAddress } from './addresses.ts'

const hasIpv6 = Object.values(networkInterfaces()).some(all => all?.some(({ family }) => family === 'IPv6'))

test('a server listens on IPv6 and IPv4, and the address of an IPv4 client has no IPv6 prefix', async t => {
  const server = createServer()
  t.after(() => server.close())
  await listenOn(ANY_ADDRESS, host => {
    server.listen({ host, port: 0 })
    return once(server, 'listening')
  })
  const { port } = server.address() as { port: number }
  for (const address of ['127.0.0.1', ...(hasIpv6 ? ['::1'] : [])]) {
    const accepted = once(server, 'connection')
    const client = connect(port, address)
    const [socket] = (await accepted) as [Socket]
    assert.equal(peerAddress(socket), address)
    client.destroy()
  }
})

test('without IPv6 a server listens on IPv4; any other failure is reported', async () => {
  const asked: string[] = []
  const refuse = (code: string) => async (host: string) => {
    asked.push(host)
    if (host === ANY_ADDRESS) throw Object.assign(new Error(code), { code })
  }
  await listenOn(ANY_ADDRESS, refuse('EAFNOSUPPORT'))
  assert.deepEqual(asked, ['::', '0.0.0.0'])
  await assert.rejects(listenOn(ANY_ADDRESS, refuse('EADDRINUSE')), { code: 'EADDRINUSE' })
})

test('a closed connection has no address', () => assert.equal(peerAddress(null), undefined))
