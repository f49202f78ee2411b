import type { Mutation } from './mutation.ts'

const SESSIONS = 'test/console.sessions.test.ts'
const TITLES = 'test/console.titles.test.ts'
const FORMS = 'test/console.forms.test.ts'
const FORGERY = 'test/console.forgery.test.ts'
const PROVIDER = 'test/console.provider.test.ts'
const LINKS = 'test/console.links.test.ts'
const REPAIRS = 'test/console.repairs.test.ts'
const ELEMENTS = 'test/console.elements.test.ts'

export default [
  {
    fault: 'CSV of a coded list: a title that begins with = is a formula',
    file: 'src/console/pages/code.ts',
    text: 'import { renderForSpreadsheets } from',
    replacement: 'import { renderRows as renderForSpreadsheets } from',
    test: TITLES,
  },
  {
    fault: 'CSV of a coded list: the certainty is that of the likeliest code',
    file: 'src/console/pages/code.ts',
    text: 'given?.certainty?.toFixed(2)',
    replacement: 'listed?.candidates[0]?.certainty?.toFixed(2)',
    test: TITLES,
  },
  {
    fault: 'the lock of an open workbook is a file of the return',
    file: 'src/console/public/look-into.js',
    text: '|~\\$[^/]*',
    replacement: '',
    test: 'test/console.files.test.ts',
  },
  {
    fault: 'names of columns come before the values that a repair changes',
    file: 'src/console/pages/repairs.ts',
    text: 'other.records - one.records',
    replacement: '0',
    test: REPAIRS,
  },
  {
    fault: 'a blank line of a list is no row',
    file: 'src/console/title-table.ts',
    text: 'reader.emptyLines = true',
    replacement: 'reader.emptyLines = false',
    test: 'test/console.title-table.test.ts',
  },
  {
    fault: "the list of a person is everybody's",
    file: 'src/console/drafts.ts',
    text: 'JSON.stringify([id, name])',
    replacement: 'JSON.stringify([id && name])',
    test: TITLES,
  },
  {
    fault: 'a page has all titles of a list',
    file: 'src/console/pages/code.ts',
    text: 'const PAGE_SIZE = 200',
    replacement: 'const PAGE_SIZE = 3_000',
    test: TITLES,
  },
  {
    fault: 'a form that is refused forgets what was typed',
    file: 'src/console/fields.ts',
    text: '(values?.get(name) ?? value)',
    replacement: 'value',
    test: FORMS,
  },
  {
    fault: 'what is wrong with a value is said with the name of the API',
    file: 'src/console/faults.ts',
    text: 'words + sentence.slice(name.length)',
    replacement: 'sentence',
    test: FORMS,
  },
  {
    fault: 'the list of submissions counts what an earlier check found in other files',
    file: 'src/console/pages/submissions.ts',
    text: '(coversFiles(submission) && validationRun)',
    replacement: 'validationRun',
    test: REPAIRS,
  },
  {
    fault: 'what was opened again counts as missed',
    file: 'src/console/pages/states.ts',
    text: " || returnStatus === 'Reopened'",
    replacement: '',
    test: LINKS,
  },
  {
    fault: 'a table that is ordered opens its page at the top',
    file: 'src/console/table.ts',
    text: '#${PLACE}',
    replacement: '',
    test: 'test/console.sorting.test.ts',
  },
  // Sessions
  {
    fault: 'a session does not end when it is not used',
    file: 'src/console/sessions.ts',
    text: 'where hash = $1 and expires > $2 and used > $3`',
    replacement: 'where hash = $1 and expires > $2 and used + $3 > 0`',
    test: SESSIONS,
  },
  {
    fault: 'a session goes on after its key was revoked',
    file: 'src/console/sessions.ts',
    text: 'return withName(await findValidKey(this.#database, keyId, now), started.name)',
    replacement: 'return withName(started, started.name)',
    test: SESSIONS,
  },
  {
    fault: 'a link signs in twice',
    file: 'src/console/sessions.ts',
    text: "'delete from console_link where hash = $1 and expires > $2 returning key_id, name'",
    replacement: "'select key_id, name from console_link where hash = $1 and expires > $2'",
    test: SESSIONS,
  },
  {
    fault: 'a link works after it has expired',
    file: 'src/console/sessions.ts',
    text: "'delete from console_link where hash = $1 and expires > $2 returning key_id, name'",
    replacement: "'delete from console_link where hash = $1 and expires + $2 > 0 returning key_id, name'",
    test: SESSIONS,
  },
  {
    fault: 'the database holds the secret of a session',
    file: 'src/console/sessions.ts',
    text: "return hash('sha256', secret, 'hex')",
    replacement: 'return secret',
    test: SESSIONS,
  },
  {
    fault: 'a new sign-in leaves the session before',
    file: 'src/console/sessions.ts',
    text: "if (previous !== undefined)\n        await writer.run('delete",
    replacement: "if (previous === '')\n        await writer.run('delete",
    test: SESSIONS,
  },
  // Forms and pages
  {
    fault: 'a form needs no token',
    file: 'src/console/console.ts',
    text: "if (method !== 'GET' && !(await hasToken(request, session.token)))",
    replacement: "if (method === 'PUT' && !(await hasToken(request, session.token)))",
    test: FORGERY,
  },
  {
    fault: 'the token of another session is accepted',
    file: 'src/console/form-token.ts',
    text: 'return one.length === other.length && timingSafeEqual(one, other)',
    replacement: 'return one.length === other.length',
    test: FORGERY,
  },
  {
    fault: 'a form of another site is accepted',
    file: 'src/console/console.ts',
    text: "request.method !== 'HEAD' && !isSameOrigin(request))",
    replacement: "request.method !== 'POST' && !isSameOrigin(request))",
    test: SESSIONS,
  },
  {
    fault: 'the console is served without TLS to other machines',
    file: 'src/console/console.ts',
    text: 'if (!isSecure(request) && !isLoopback(request))',
    replacement: 'if (isSecure(request) && !isLoopback(request))',
    test: SESSIONS,
  },
  {
    fault: 'a page is shown without its scope',
    file: 'src/console/console.ts',
    text: 'if (route.scope !== undefined && !principal.scopes.has(route.scope))',
    replacement: 'if (route.scope !== undefined && principal.scopes.size === 0)',
    test: SESSIONS,
  },
  {
    fault: 'a suspended organisation is told that its submission does not exist',
    file: 'src/console/console.ts',
    text: "problem.type !== '/problems/organisation-suspended'",
    replacement: "problem.type !== ''",
    test: LINKS,
  },
  {
    fault: 'a link to the rest of a list loses its filters',
    file: 'src/console/links.ts',
    text: '...Object.fromEntries(query), ',
    replacement: '',
    test: ELEMENTS,
  },
  {
    fault: 'a page shows a notice that the console did not write for its session',
    file: 'src/console/notice.ts',
    text: 'signature === sign(session, text)',
    replacement: "signature !== ''",
    test: TITLES,
  },
  {
    fault: 'scripts can read the cookie of a session',
    file: 'src/console/cookies.ts',
    text: "    'HttpOnly',\n",
    replacement: '',
    test: SESSIONS,
  },
  {
    fault: 'a page may be framed by another site',
    file: 'src/console/console.ts',
    text: "frame-ancestors 'none'; ",
    replacement: '',
    test: SESSIONS,
  },
  // The identity provider
  {
    fault: 'an ID token need not be signed by a published key',
    file: 'src/console/oidc.ts',
    text: '          openid.enableNonRepudiationChecks,\n',
    replacement: '',
    test: PROVIDER,
  },
  {
    fault: 'the response of the provider is read without a limit',
    file: 'src/foundation/bounded-fetch.ts',
    text: 'if (bytes > most)',
    replacement: 'if (bytes > 1e10)',
    test: PROVIDER,
  },
  // Pages of the catalogue
  {
    fault: 'rows of a comparison are in the order of the fields',
    file: 'src/console/pages/compare.ts',
    text: '[...known.filter(differs), ...known.filter((row) => !differs(row))]',
    replacement: 'known',
    test: ELEMENTS,
  },
  {
    fault: 'the page of a revision does not name the successors of a removed code',
    file: 'src/console/pages/changes.ts',
    text: 'if (codes.length === 0) return false',
    replacement: 'if (codes.length < 9) return false',
    test: ELEMENTS,
  },
] satisfies Mutation[]
