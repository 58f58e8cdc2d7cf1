/**
 * Runs inside the sandbox before each script, and defines what the script sees. Evaluates to a function: it takes the host's
 * functions, and returns those that the host calls. Intrinsics are kept here, so that a script that replaces them harms only itself.
 */
;(send, log) => {
  const { parse, stringify } = JSON
  const { create, freeze, defineProperty } = Object
  const { apply } = Reflect
  const { slice, includes } = String.prototype
  const [RealError, RealTypeError, RealPromise, RealProxy, text] = [Error, TypeError, Promise, Proxy, String]
  const [RealMap, RealSet] = [Map, Set]
  const MAX_TEXT_CHARACTERS = 2_000
  const MAX_LOG_CHARACTERS = 20_000
  /** Names that the language itself asks objects for: a tool with such a name is reached by tools["server:then"]. */
  const OF_THE_LANGUAGE = create(null)
  for (const name of ['then', 'toJSON', 'constructor', 'prototype']) OF_THE_LANGUAGE[name] = true

  class ToolError extends RealError {
    constructor({ message, tool, kind, result }, stack) {
      super(message)
      own(this, { name: 'ToolError', tool, kind, result })
      if (stack !== undefined) own(this, { stack })
    }
  }

  function own(object, values) {
    for (const key in values)
      defineProperty(object, key, { __proto__: null, value: values[key], writable: true, configurable: true })
  }

  const waiting = create(null)
  let nextCall = 1
  let state = 'running'
  let outcome

  function request(kind, path, args) {
    if (args instanceof RealPromise)
      throw new RealTypeError(`the arguments of ${path} are a promise: await it first`)
    const json = args === undefined ? '{}' : stringify(args, plain)
    if (json === undefined) throw new RealTypeError(`the arguments of ${path} are no object`)
    const call = nextCall++
    const { stack } = new RealError()
    return new RealPromise((resolve, reject) => {
      const refusal = send(call, kind, path, json)
      if (refusal === undefined) waiting[call] = { __proto__: null, resolve, reject, stack }
      else reject(new ToolError({ __proto__: null, ...parse(refusal) }, stack))
    })
  }

  /** `json`: of the value, or of the error; undefined: the value is undefined. */
  function settle(call, isValue, json) {
    const { resolve, reject, stack } = waiting[call]
    delete waiting[call]
    let value
    try {
      value = json === undefined ? undefined : parse(json)
    } catch (error) {
      // Only memory can be short here, for the host wrote the text.
      reject(error)
      return
    }
    if (isValue) resolve(value)
    else reject(new ToolError(value, stack))
  }

  function toolAt(path) {
    const call = args => request('call', path, args)
    own(call, { raw: args => request('raw', path, args) })
    return freeze(call)
  }

  /** A function whose properties are made by `make` when they are first read. */
  function tree(call, make) {
    const made = create(null)
    return new RealProxy(call, {
      __proto__: null,
      get: (_, key) => {
        if (typeof key !== 'string' || OF_THE_LANGUAGE[key]) return undefined
        made[key] ??= make(key)
        return made[key]
      },
      set: () => false,
      defineProperty: () => false,
      deleteProperty: () => false,
      setPrototypeOf: () => false,
      getPrototypeOf: () => null,
      ownKeys: () => [],
      getOwnPropertyDescriptor: () => undefined,
      has: (_, key) => typeof key === 'string',
    })
  }

  // Arrow functions have no own property that a proxy must show.
  const tools = tree(
    () => {
      throw new RealTypeError('tools is no function: call tools.server.tool({…})')
    },
    name =>
      apply(includes, name, [':'])
        ? toolAt(name)
        : tree(
            args => request('call', name, args),
            tool => toolAt(`${name}:${tool}`),
          ),
  )

  const discover = (query, options) => request('discover', 'discover', { query, ...options })
  const read = uri => request('read', text(uri), undefined)
  const keep = value => request('keep', 'keep', { value })
  const sleep = ms => request('sleep', 'sleep', { ms })
  const console = {}
  for (const level of ['log', 'info', 'warn', 'error', 'debug'])
    own(console, {
      [level]: (...values) => {
        let line = ''
        for (let at = 0; at < values.length; at++) line += (at === 0 ? '' : ' ') + shown(values[at])
        log(apply(slice, line, [0, MAX_LOG_CHARACTERS]))
      },
    })

  function shown(value) {
    if (typeof value === 'string') return value
    if (value instanceof RealError) return `${textOf(value, 'name')}: ${textOf(value, 'message')}`
    try {
      return stringify(value, plain) ?? text(value)
    } catch {
      return text(value)
    }
  }

  /** What JSON has no form for, as near as possible. */
  function plain(_key, value) {
    if (typeof value === 'bigint') return text(value)
    if (value instanceof RealSet) return [...value]
    if (!(value instanceof RealMap)) return value
    const object = create(null)
    for (const [key, item] of value) object[text(key)] = item
    return object
  }

  function textOf(value, key) {
    try {
      const found = value[key]
      return typeof found === 'string' ? apply(slice, found, [0, MAX_TEXT_CHARACTERS]) : ''
    } catch {
      return ''
    }
  }

  function described(error) {
    const isObject = (typeof error === 'object' && error !== null) || typeof error === 'function'
    if (!isObject)
      return stringify({ name: '', message: apply(slice, text(error), [0, MAX_TEXT_CHARACTERS]), stack: '' })
    const [name, message, stack] = [textOf(error, 'name'), textOf(error, 'message'), textOf(error, 'stack')]
    const isError = error instanceof RealError
    const more = message || isError ? message : apply(slice, shown(error), [0, MAX_TEXT_CHARACTERS])
    return stringify({ name: name || 'Error', message: more, stack })
  }

  async function run(script, inputJson) {
    try {
      const input = inputJson === undefined ? undefined : parse(inputJson)
      own(globalThis, { input })
      let value = await script(input)
      if (typeof value === 'function') value = await value(input)
      outcome = value
      state = 'returned'
    } catch (error) {
      outcome = error
      state = 'threw'
    }
  }

  for (const name of ['eval', 'SharedArrayBuffer', 'WeakRef', 'FinalizationRegistry', 'InternalError'])
    delete globalThis[name]
  own(globalThis, { tools, discover, read, keep, sleep, console, ToolError })

  return {
    run: (script, inputJson) => void run(script, inputJson),
    settle,
    state: () => state,
    /** JSON of the value, or undefined; of the error, if the script threw. */
    finish: () => (state === 'threw' ? described(outcome) : stringify(outcome, plain)),
    described,
  }
}
