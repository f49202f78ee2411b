import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { sendsPreparedHead } from '../src/pages/write-head.ts'

test('this Node.js sends a prepared head unchanged', () => {
  expect(sendsPreparedHead()).toBe(true)
})

test('a Node.js that ignores a prepared head is recognized', () => {
  class Indifferent extends ServerResponse {
    set _header(_: string) {}
    get _header(): string | null {
      return null
    }
  }
  expect(sendsPreparedHead(new Indifferent(new IncomingMessage(new Socket())))).toBe(false)
})
