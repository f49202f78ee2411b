import type { Mutation } from './mutation.ts'

const PAGING = 'test/results.paging.test.ts'
const FILTERS = 'test/results.filters.test.ts'
const PARAMETERS = 'test/results.parameters.test.ts'
const PUBLISHING = 'test/results.publishing.test.ts'
const SEALING = 'test/submissions.sealing.test.ts'
const RETENTION = 'test/submissions.retention.test.ts'
const SUBMITTING = 'test/submissions.submitting.test.ts'
const EXPLAINING = 'test/submissions.explanations.test.ts'
const CONDITIONAL = 'test/results.conditional.test.ts'

export default [
  // Paging and filters of validation results
  {
    fault: 'the ETag of validation results ignores the filters',
    file: 'src/submissions/findings/get-results.ts',
    text: '${query.page}/${query.pageSize}${nameFilters(query)}`',
    replacement: '${query.page}/${query.pageSize}`',
    test: CONDITIONAL,
  },
  {
    fault: 'the ETag of validation results ignores the page',
    file: 'src/submissions/findings/get-results.ts',
    text: '/${query.page}/${query.pageSize}',
    replacement: '/${query.pageSize}',
    test: PAGING,
  },
  {
    fault: 'the page after the last one is empty, and no error',
    file: 'src/submissions/findings/get-results.ts',
    text: 'Math.max(1, Math.ceil(submission.totalCount / pageSize))',
    replacement: 'Math.max(1, Math.ceil(submission.totalCount / pageSize) + 1)',
    test: PARAMETERS,
  },
  {
    fault: 'page 1 of no entries is refused',
    file: 'src/submissions/findings/get-results.ts',
    text: 'Math.max(1, Math.ceil(submission.totalCount / pageSize))',
    replacement: 'Math.ceil(submission.totalCount / pageSize)',
    test: CONDITIONAL,
  },
  {
    fault: 'a page past the end has the errorCode PR1',
    file: 'src/submissions/findings/get-results.ts',
    text: "describePaginationFaults('PR2'",
    replacement: "describePaginationFaults('PR1'",
    test: PARAMETERS,
  },
  {
    fault: 'a page begins one entry late',
    file: 'src/submissions/findings/get-results.ts',
    text: '(page - 1) * pageSize, pageSize)',
    replacement: '(page - 1) * pageSize + 1, pageSize)',
    test: PAGING,
  },
  {
    fault: 'filters combine with OR within a block',
    file: 'src/submissions/findings/filters.ts',
    text: 'byte & (others[index] ?? 0)',
    replacement: 'byte | (others[index] ?? 0)',
    test: FILTERS,
  },
  {
    fault: 'a page of a filtered list repeats the last entry of the page before',
    file: 'src/submissions/findings/filters.ts',
    text: 'skip -= bits',
    replacement: 'skip -= Math.max(1, bits - 1)',
    test: FILTERS,
  },
  {
    fault: 'a publish of another organisation replaces a submission',
    file: 'src/submissions/findings/publish.ts',
    text: 'found.eid !== eid || found.returnId !== returnId',
    replacement: 'found.returnId !== returnId',
    test: PUBLISHING,
  },
  {
    fault: 'a publish does not make its run the current one',
    file: 'src/submissions/findings/publish.ts',
    text: "'update submission set run = $2, total = $3,",
    replacement: "'update submission set run = $2 + 0 * run, total = $3 + 1,",
    test: PUBLISHING,
  },
  // Encryption
  {
    fault: 'ciphertext is not bound to its position: no associated data when it is encrypted and decrypted',
    file: 'src/foundation/database/seal.ts',
    text: '    cipher.setAAD(Buffer.from(context))\n',
    replacement: '',
    test: SEALING,
  },
  {
    fault: 'the position is not checked when ciphertext is decrypted',
    file: 'src/foundation/database/seal.ts',
    text: '    decipher.setAAD(Buffer.from(context))\n',
    replacement: '',
    test: SEALING,
  },
  {
    fault: 'the nonce of the encryption is never incremented',
    file: 'src/foundation/database/seal.ts',
    text: '++this.#count',
    replacement: '1',
    test: SEALING,
  },
  {
    fault: 'all objects share a salt, and so a key',
    file: 'src/foundation/database/seal.ts',
    text: 'const salt = randomBytes(SALT)',
    replacement: 'const salt = Buffer.alloc(SALT)',
    test: SEALING,
  },
  {
    fault: 'the last key encrypts instead of the first',
    file: 'src/foundation/database/seal.ts',
    text: 'keyId == null ? this.#keys[0] : this.#key(keyId)',
    replacement: 'keyId == null ? this.#keys.at(-1) : this.#key(keyId)',
    test: SEALING,
  },
  // Purge and retention
  {
    fault: 'purging a submission leaves its explanations and receipts',
    file: 'src/submissions/retention/purge.ts',
    text: '    await deleteRecordsOf(writer, token)\n',
    replacement: '',
    test: RETENTION,
  },
  {
    fault: 'purging a submission leaves its findings',
    file: 'src/submissions/retention/purge.ts',
    text: '    findings += await deleteBlocks(database, token, run)\n',
    replacement: '',
    test: RETENTION,
  },
  {
    fault: 'purging a submission leaves its files',
    file: 'src/submissions/retention/purge.ts',
    text: '  for (const version of versions) await deleteInParts(database, token, version)\n',
    replacement: '',
    test: RETENTION,
  },
  {
    fault: 'retention ignores that a submission was reopened',
    file: 'src/submissions/retention/retention.ts',
    text: ' and coalesce(s.reopened_until, 0) < $1\n',
    replacement: '\n',
    test: RETENTION,
  },
  {
    fault: 'retention of files begins at the upload, though the submission was submitted later',
    file: 'src/submissions/retention/retention.ts',
    text: ' and coalesce(s.ended_at, 0) < $1',
    replacement: '',
    test: RETENTION,
  },
  {
    fault: 'retention deletes the files of a run in progress',
    file: 'src/submissions/retention/retention.ts',
    text: 'where r.token = s.token and r.completed is null)',
    replacement: 'where r.token = s.token and r.completed = 0)',
    test: RETENTION,
  },
  {
    fault: 'retention deletes files on the last day that they are kept',
    file: 'src/submissions/retention/retention.ts',
    text: 'Date.now() - days * DAY\n  const rows = await database.all<{ token: string; eid: string }>(expired',
    replacement:
      'Date.now() - (days - 1) * DAY\n  const rows = await database.all<{ token: string; eid: string }>(expired',
    test: RETENTION,
  },
  // Submitting
  {
    fault: 'a submission with errors can be submitted',
    file: 'src/submissions/explanations/submit.ts',
    text: 'if (run.errors > 0)',
    replacement: 'if (run.errors > 1e9)',
    test: SUBMITTING,
  },
  {
    fault: 'a submission whose files were changed after the run can be submitted',
    file: 'src/submissions/explanations/submit.ts',
    text: 'if (run.revision !== submission.revision)',
    replacement: 'if (run.revision > submission.revision)',
    test: SUBMITTING,
  },
  {
    fault: 'a warning that needs an explanation is accepted without one',
    file: 'src/submissions/explanations/submit.ts',
    text: 'if (open.length === 0) return',
    replacement: 'if (open.length >= 0) return',
    test: EXPLAINING,
  },
  {
    fault: 'a receipt has no digest of a file',
    file: 'src/submissions/explanations/submit.ts',
    text: "sha256: digests.get(nameContent(file)) ?? ''",
    replacement: "sha256: ''",
    test: SUBMITTING,
  },
] satisfies Mutation[]
