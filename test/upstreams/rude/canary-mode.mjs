/** `node server.mjs canary WORD`: a correct server that has the word in each of its names, texts and answers. */
const word = process.argv[3]
const item = name => ({ name: `${word}_${name}`, description: `About ${word} things` })
const inputSchema = { type: 'object', properties: { [`${word}Id`]: { type: 'string' } } }

export const canaryMode = {
  canary: server => {
    const results = {
      'resources/list': { resources: [{ ...item('resource'), uri: `file:///${word}/one` }] },
      'resources/templates/list': {
        resourceTemplates: [{ ...item('template'), uriTemplate: `file:///${word}/{name}` }],
      },
      'resources/read': { contents: [{ uri: `file:///${word}/one`, text: `Text of ${word}` }] },
      'prompts/list': { prompts: [item('prompt')] },
      'prompts/get': { messages: [{ role: 'user', content: { type: 'text', text: `Prompt of ${word}` } }] },
    }
    server.capabilities = { tools: {}, resources: {}, prompts: {} }
    server.tools = ['get', 'delete', 'list'].map(verb => ({ ...item(verb), inputSchema }))
    server.call = id => server.answer(id, { content: [{ type: 'text', text: `Answer of ${word}` }] })
    server.other = (id, _params, method) =>
      results[method]
        ? server.answer(id, results[method])
        : server.fail(id, -32601, `no ${method} at ${word}`)
  },
}
