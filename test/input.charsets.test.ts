import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EncodingLook } from '../src/engines/records/index.ts'
import { findLostCharacters, repairMojibake } from '../src/foundation/text/mojibake.ts'
import { importFile } from './support/import-file.ts'
import { exportText } from './support/opened.ts'
import { cases } from './support/properties.ts'
import { openTemporary } from './support/reused-schemas.ts'

/** The characters of character sets for the bytes from 0x80, as the Unicode Consortium maps them. */
const CHARSETS: Readonly<Record<string, string>> = {
  'Mac Roman':
    'ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûü†°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø¿¡¬√ƒ≈∆«»…\u00a0ÀÃÕŒœ–—“”‘’÷◊ÿŸ⁄€‹›ﬁﬂ‡·‚„‰ÂÊÁËÈÍÎÏÌÓÔ\uf8ffÒÚÛÙıˆ˜¯˘˙˚¸˝˛ˇ',
  CP850:
    'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u00ad±‗¾¶§÷¸°¨·¹³²■\u00a0',
  CP437:
    'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0',
}

/** What a program shows of a text in UTF-8 that it reads in another character set. */
function misread(text: string, charset: string): string {
  const characters = [...(CHARSETS[charset] ?? '')]
  return [...Buffer.from(text)]
    .map((byte) => (byte < 0x80 ? String.fromCharCode(byte) : (characters[byte - 0x80] ?? '')))
    .join('')
}

/** Why a text is refused; `undefined` if it is stored. */
function findFault(text: string): string | undefined {
  const { text: meant, fault = findLostCharacters(meant) } = repairMojibake(text)
  return fault
}

describe.each(Object.keys(CHARSETS))('UTF-8 that was decoded as %s', (charset) => {
  test('is refused in every line of the sample, by cell, and nothing is changed', async () => {
    const samples = readFileSync(new URL('../samples/occupations.ndjson', import.meta.url), 'utf8')
    const database = await openTemporary()
    await importFile(database, 'records.ndjson', samples)
    const before = await exportText(database)
    const csv = (await exportText(database, 'flat-csv')).replace(/^\ufeff/, '')
    const saved = misread(csv, charset)
    for (const line of saved.split('\n')) if (!csv.includes(line)) expect(findFault(line)).toContain(charset)
    const { faults } = await importFile(database, 'saved.csv', saved)
    expect(faults.length).toBeGreaterThan(0)
    expect(faults.every(({ field, message }) => field !== undefined && message.includes(charset))).toBe(true)
    expect(await exportText(database)).toBe(before)
  })

  test('is always refused if it has a macron or a dash, whatever else', () => {
    const part = fc.constantFrom('ā', 'ō', 'Ū', '–', '’', 'é', 'ü', '½', 'ñ', '漢', '😀', 'kai', ' ', ', ')
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 12 }),
        fc.constantFrom('ē', 'Ī', '“', '…', '’', '–'),
        (parts, sure) => {
          const text = misread(`${parts.join('')}${sure}${parts.toReversed().join('')}`, charset)
          expect(findFault(text)).toContain(charset)
        },
      ),
      cases(300),
    )
  })
})

/** Words and texts of people, in many languages and scripts. */
const CORRECT = [
  'café, naïve, façade, crème brûlée, garçon, œuvre, «été», l’été, L’ÉTÉ, À LA CARTE, l’Œuvre — “été”',
  'Müller, Ärzte, ÄRZTE, „Übung“, ‚Ähnlich‘, Straße, GRÖSSE',
  'Åse, Ångström, smørrebrød, Malmö, Blåbär, TÄMÄ, HÄMÄRÄ, Sääskilahti, Æble, ØRE',
  'niño, ¿qué?, IRMÃ, IRMÃO, irmã, coração, AÇÕES, ÑANDÚ, AVÔ, avô, “Ôter”',
  'Żółć, Čeština, Łódź, őrült, İstanbul, ışık, Ĳssel, ţară, șase, Ērgļi, Rīga, ātrums',
  'Tiếng Việt, Đặng, phở',
  'Медсестра, учитель — «школа»',
  'Γεωργία, ΓΗ, Ελληνικά, Ω, ΓΙΑΓΙΑ',
  'שלום, مرحبا, हिन्दी, ไทย',
  '看護師, 教師、, 간호사, “教师”',
  'Māori, kōhungahunga, Nēhi, Pūkenga, ĀHUA, Whānau – “kaiako”, te reo Māori',
  '½ day, £5 – £6, 20 °C, ± 3 %, √2, ≈ 5, ≈5, ƒ 100, ƒ100, 3 × 4 ÷ 2, µm, ∆t, §3, ¶, ©, ®, ™, €, Ω',
  '─────, ──┼──, ├── src, └─ test, ═══╬═══, ░▒▓█',
  'mÅ, 5 Å, nmÅ, pHÅ, Ärger, Äkonga, klimaÄrzte, MedÅrhus, iÄpp, KÅ, TÅ, WHÄ',
]

test.each(CORRECT)('correct text is left: %s', (text) => {
  expect(findFault(text)).toBeUndefined()
  for (const word of text.split(', ')) expect([word, findFault(word)]).toEqual([word, undefined])
})

test('correct words are always left, in any order', () => {
  const word = fc.constantFrom(...CORRECT.flatMap((text) => text.split(/,? /)))
  fc.assert(
    fc.property(
      fc.array(word, { maxLength: 8 }),
      fc.constantFrom(' ', ', ', ' – ', '/', '-'),
      (words, between) => {
        expect(findFault(words.join(between))).toBeUndefined()
      },
    ),
    cases(1000),
  )
})

test.each([
  ['kÅhungahunga', 'kÅhungahunga'],
  ['Kaiako MÄori', 'MÄori'],
  ['Te WhÄnau', 'WhÄnau'],
  ['he whÄ', 'whÄ'],
  ['the kaiakoâ€', 'â€'],
])('UTF-8 that lost a byte as Windows-1252 is refused: %s', (text, quoted) => {
  expect(findFault(text)).toContain(`"${quoted}"`)
})

test('a cell that lost a byte is refused with its place, in a file of one row', async () => {
  const text = 'occupationCode,titleMaori\nA,Kaiako kÅhungahunga\n'
  const { faults } = await importFile(await openTemporary(), 'a.csv', text)
  expect(faults).toMatchObject([
    { line: 2, field: 'titleMaori', message: expect.stringContaining('"kÅhungahunga"') },
  ])
})

test.each([
  ['ASCII', [...Buffer.from('ab')], 'UTF-8'],
  ['a byte that is not UTF-8', [0x61, 0xe9], 'Windows-1252'],
  ['UTF-8', [...Buffer.from('é')], 'UTF-8'],
  // Its record is faulty.
  ['UTF-8 and a byte that is not', [...Buffer.from('é'), 0x61, 0xe9], 'UTF-8'],
  ['a character that is cut off', [...Buffer.from('é'), 0xc3], 'UTF-8'],
])('%s: the encoding is known wherever pieces end', (_, bytes, encoding) => {
  for (const size of [1, 2, bytes.length]) {
    const look = new EncodingLook()
    for (let at = 0; at < bytes.length; at += size) look.push(Buffer.from(bytes.slice(at, at + size)))
    expect([size, look.end()]).toEqual([size, encoding])
  }
})
