import type { Mutation } from './mutation.ts'

const ENGINE = 'test/search.engine.test.ts'
const COPY = 'test/mirror.copy.test.ts'
const LIES = 'test/mirror.lies.test.ts'
const OCCUPATIONS = 'test/client.occupations.test.ts'
const RESULTS = 'test/client.results.test.ts'
const RETRIES = 'test/system/client.retries.test.ts'

export default [
  // Ranking
  {
    fault: 'a title that resembles the query has no advantage over another name',
    file: 'src/engines/finding/bonuses.ts',
    text: 'const TITLE_SIMILARITY = 3',
    replacement: 'const TITLE_SIMILARITY = 0',
    test: ENGINE,
  },
  {
    fault: 'a letter with a macron is another letter',
    file: 'src/engines/finding/fold.ts',
    text: "return word.normalize('NFKD').replace(DROPPED, '')",
    replacement: "return word.normalize('NFC')",
    test: ENGINE,
  },
  {
    fault: 'a doubled vowel is not a vowel with a macron',
    file: 'src/engines/finding/fold.ts',
    text: "return word.replace(/([aeiou])\\1+/g, '$1')",
    replacement: 'return word',
    test: ENGINE,
  },
  {
    fault: 'a plural in -ies has no singular',
    file: 'src/engines/finding/stem.ts',
    text: "if (word.length > 4 && word.endsWith('ies'))",
    replacement: "if (word.length > 40 && word.endsWith('ies'))",
    test: ENGINE,
  },
  {
    fault: 'letters with points are words of one letter',
    file: 'src/engines/finding/fold.ts',
    text: 'DOTTED.source',
    replacement: "'(?!)'",
    test: ENGINE,
  },
  {
    fault: 'what somebody does is not read as who does it',
    file: 'src/engines/finding/expansion.ts',
    text: "if (verb === undefined || !verb.term.endsWith('ing')) return []",
    replacement: "if (verb === undefined || verb.term !== '') return []",
    test: ENGINE,
  },
  {
    fault: 'a title that begins with a word in -ing is read as who does it',
    file: 'src/engines/finding/expansion.ts',
    text: 'return PERSON.test(term) ||',
    replacement: 'return PERSON.test(term + term) !== PERSON.test(term) ||',
    test: ENGINE,
  },
  {
    fault: 'a word with another form of the stem is not found in texts',
    file: 'src/engines/finding/score.ts',
    text: 'for (const other of alike) this.#addWord(',
    replacement: 'for (const other of alike.slice(alike.length)) this.#addWord(',
    test: ENGINE,
  },
  {
    fault: 'an everyday word has no other meaning',
    file: 'src/engines/finding/synonyms.ts',
    text: 'this.#add(from, others)',
    replacement: 'this.#add(from, others.slice(others.length))',
    test: ENGINE,
  },
  // Codings
  {
    fault: 'a form without a job is coded',
    file: 'src/engines/finding/coding.ts',
    text: 'isNoJob(title) && !isName',
    replacement: 'isNoJob(title) && title === id && !isName',
    test: ENGINE,
  },
  {
    fault: 'a name such as Homemaker is not coded',
    file: 'src/engines/finding/coding.ts',
    text: 'isNoJob(title) && !isName',
    replacement: 'isNoJob(title)',
    test: ENGINE,
  },
  {
    fault: 'candidates are in the order of probabilities',
    file: 'src/engines/finding/coding.ts',
    text: '.sort((a, b) => order(b) - order(a))',
    replacement: '.sort((a, b) => Number(a === b))',
    test: ENGINE,
  },
  {
    fault: 'a code is given that is more likely wrong than right',
    file: 'src/engines/finding/coding.ts',
    text: 'const code = certainty >= CERTAIN ?',
    replacement: 'const code = certainty >= CERTAIN / 5 ?',
    test: ENGINE,
  },
  {
    fault: 'a group is given that is less certain than the group above it',
    file: 'src/engines/finding/coding.ts',
    text: 'minors.certainty >= CERTAIN) return minors',
    replacement: 'minors.certainty >= 0) return minors',
    test: ENGINE,
  },
  {
    fault: 'a confirmed name has no more weight than another name',
    file: 'src/engines/finding/bonuses.ts',
    text: 'const CONFIRMED_BONUS = 9',
    replacement: 'const CONFIRMED_BONUS = 1',
    test: ENGINE,
  },
  {
    fault: 'a name that is qualified has no advantage over part of a name',
    file: 'src/engines/finding/search.ts',
    text: "if (omitted.length === 0) return ''",
    replacement: "if (omitted.length < 9) return ''",
    test: ENGINE,
  },
  {
    fault: 'a title with an unknown word is as certain as one without',
    file: 'src/engines/finding/familiarity.ts',
    text: 'if (unknown.length === 0) return undefined',
    replacement: 'if (unknown.length < 9) return undefined',
    test: ENGINE,
  },
  // The mirror
  {
    fault: 'a mirror accepts a snapshot that does not match its digest',
    file: 'src/remote/mirror.ts',
    text: "if (hash.digest('base64') !== digest)",
    replacement: "if (hash.digest('base64') === '')",
    test: LIES,
  },
  {
    fault: 'a mirror replaces its copy before it has compared the new one',
    file: 'src/foundation/command-line/output-file.ts',
    text: 'const temporary = `${path}.new`',
    replacement: 'const temporary = path',
    test: COPY,
  },
  {
    fault: 'a mirror asks whether the catalogue has changed for a copy that somebody has changed',
    file: 'src/remote/mirror.ts',
    text: '(await digestFile(join(folder, FILE))) === state.digest',
    replacement: "(await digestFile(join(folder, FILE))) !== ''",
    test: COPY,
  },
  {
    fault: 'a mirror of another service keeps the copy',
    file: 'src/remote/mirror.ts',
    text: 'state?.url === url && ',
    replacement: '',
    test: 'test/input.hostile-service.test.ts',
  },
  // The client
  {
    fault: 'a copy in memory stays as it was, whatever fails',
    file: 'client/src/occupation-changes.ts',
    text: 'earlier !== undefined && error instanceof MahiError && error.status === 304',
    replacement: 'earlier !== undefined',
    test: 'test/mirror.lies.test.ts',
  },
  {
    fault: 'a copy in memory is not compared with the digest',
    file: 'client/src/occupation-changes.ts',
    text: '(await digestRecords(records)) !== digest',
    replacement: 'records.size < 0',
    test: 'test/mirror.lies.test.ts',
  },
  {
    fault: 'a snapshot in memory is not compared with its digest',
    file: 'client/src/occupation-changes.ts',
    text: 'if ((await digestRecords(records)) !== digest)',
    replacement: "if ((await digestRecords(records)) === '')",
    test: LIES,
  },
  {
    fault: 'a retry does not wait for the seconds of Retry-After',
    file: 'client/src/retry.ts',
    text: 'return Number.isNaN(seconds) ? undefined : Math.max(0, seconds)',
    replacement: 'return Number.isNaN(seconds) ? undefined : Math.min(0, seconds)',
    test: RETRIES,
  },
  {
    fault: 'a stream that breaks off ends as if it were whole',
    file: 'client/src/lines.ts',
    text: "if (count !== totalCount || rest !== '') {",
    replacement: 'if (count > totalCount) {',
    test: RESULTS,
  },
  {
    fault: 'a reader of all records stops after the first page',
    file: 'client/src/occupations.ts',
    text: '      if (cursor === undefined) return\n',
    replacement: '      if (seen.size === 0) return\n',
    test: OCCUPATIONS,
  },
  {
    fault: 'a page of another run continues the run that is being read',
    file: 'client/src/validation-results.ts',
    text: 'if (page > 1 && answeredRun !== run) {',
    replacement: 'if (page > 1 && answer === undefined) {',
    test: RESULTS,
  },
  {
    fault: 'a page of changes with fewer changes than it announces is whole',
    file: 'client/src/page.ts',
    text: 'if (resultsCount !== changes.length)',
    replacement: 'if (changes.length > 1e9)',
    test: 'test/client.changes.test.ts',
  },
  {
    fault: 'an abort does not end what waits for its signal',
    file: 'client/src/abort.ts',
    text: 'for (const each of added) each()',
    replacement: 'for (const each of [...added].slice(1)) each()',
    test: 'test/client.abort.test.ts',
  },
  {
    fault: 'a call to load the search index is lost as an earlier load ends',
    file: 'src/catalogue/search/live-index.ts',
    text: 'this.#loading = undefined',
    replacement: 'await Promise.resolve().then(() => (this.#loading = undefined))',
    test: 'test/search.index.test.ts',
  },
] satisfies Mutation[]
