import { expect, test } from 'vitest'
import { Sealer, type SealKey } from '../src/foundation/database/seal.ts'

const OLD: SealKey = { id: 'old', key: new Uint8Array(32).fill(7) }
const NEW: SealKey = { id: 'new', key: new Uint8Array(32).fill(9) }
const content = Buffer.from('{"studentId":"1"}')
const at = (position: number) => `run/1/${position}`

/** The parts of sealed bytes: `1`, the length of the key id, the id, salt, nonce, tag and ciphertext. */
function split(sealed: Buffer) {
  const id = 2 + (sealed[1] ?? 0)
  const [salt, nonce, tag] = [id + 16, id + 28, id + 44]
  return {
    id: sealed.toString('utf8', 2, id),
    salt: sealed.toString('hex', id, salt),
    nonce: sealed.toString('hex', salt, nonce),
    tag,
  }
}

test('a part is opened in its own place only', () => {
  const sealer = new Sealer([OLD])
  const sealing = sealer.begin()
  const [first, second] = [sealing.seal(content, at(0)), sealing.seal(content, at(1))]
  expect(sealer.open(first, at(0))).toEqual(content)
  for (const [sealed, place] of [
    [first, at(1)],
    [second, at(0)],
    [first, ''],
  ] as const)
    expect(() => sealer.open(sealed, place)).toThrow('it was changed, or the key is wrong')
  const text = sealing.sealText('a text', 'summary/1')
  expect(sealer.openText(text, 'summary/1')).toBe('a text')
  expect(() => sealer.openText(text, 'summary/2')).toThrow()
})

test('no nonce is used twice with a key, and no two objects have one key', () => {
  const sealer = new Sealer([OLD])
  const objects = Array.from({ length: 20 }, () => {
    const sealing = sealer.begin()
    return Array.from({ length: 50 }, (_, part) => split(sealing.seal(content, at(part))))
  })
  expect(new Set(objects.map(([first]) => first?.salt)).size).toBe(objects.length)
  for (const parts of objects) {
    expect(new Set(parts.map(({ salt }) => salt)).size).toBe(1)
    expect(new Set(parts.map(({ nonce }) => nonce)).size).toBe(parts.length)
  }
})

test('a changed byte is noticed wherever it is, and the content cannot be read', () => {
  const sealer = new Sealer([OLD])
  const sealed = sealer.begin().seal(content, at(0))
  expect(sealed.includes('studentId')).toBe(false)
  for (let index = split(sealed).tag - 16; index < sealed.length; index++) {
    const changed = Buffer.from(sealed)
    changed.writeUInt8((changed[index] ?? 0) ^ 1, index)
    expect(() => sealer.open(changed, at(0)), `byte ${index}`).toThrow()
  }
})

test('the first key encrypts, each key decrypts, and a key that is gone is named', () => {
  const before = new Sealer([OLD]).begin().seal(content, at(0))
  const both = new Sealer([NEW, OLD])
  const after = both.begin().seal(content, at(0))
  expect([split(before).id, split(after).id]).toEqual(['old', 'new'])
  expect([both.open(before, at(0)), both.open(after, at(0))]).toEqual([content, content])
  expect([both.isCurrent(before), both.isCurrent(after)]).toEqual([false, true])
  expect(() => new Sealer([NEW]).open(before, at(0))).toThrow(
    'the key "old", which ENCRYPTION_KEYS does not have',
  )
  // An object that was begun with a key keeps it.
  expect(split(both.begin('old').seal(content, at(1))).id).toBe('old')
})

test('without a key content stays as it is, and is read with any', () => {
  const plain = new Sealer().begin().seal(content, at(0))
  expect(plain.includes(content)).toBe(true)
  expect(new Sealer([OLD]).open(plain, at(5))).toEqual(content)
  expect(new Sealer().begin().sealText('a text', '')).toBe('a text')
})

test('equal values have one hash with a key, which nobody has without it', () => {
  const sealer = new Sealer([OLD])
  const hash = sealer.hash('old', '1234567', 'run/1')
  expect(hash).toBe(new Sealer([NEW, OLD]).hash('old', '1234567', 'run/1'))
  expect(
    new Set([hash, sealer.hash('old', '1234567', 'run/2'), sealer.hash('old', '1234568', 'run/1')]).size,
  ).toBe(3)
  expect(sealer.hashes('1234567', 'run/1')).toEqual(['1234567', hash])
})
