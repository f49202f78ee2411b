import type { Mutation } from './mutation.ts'

const ENCRYPTION = 'test/submissions.keys.test.ts'
const RETENTION = 'test/submissions.retention.test.ts'
const EXPLANATIONS = 'test/submissions.explanations.test.ts'
const RETURNS = 'test/submissions.returns.test.ts'
const REPAIRS = 'test/submissions.repairs.test.ts'
const COLLECTION = 'test/submissions.collection.test.ts'
const ACTIVITY = 'test/submissions.activity.test.ts'
const CONTAINERS = 'test/system/submissions.containers.test.ts'
const STORAGE = 'test/system/submissions.storage.test.ts'
const PAGING = 'test/results.paging.test.ts'
const PARAMETERS = 'test/results.parameters.test.ts'
const PUBLISHING = 'test/results.publishing.test.ts'

export default [
  // ETag and paging of results.
  {
    fault: 'the ETag of validation results ignores the filters',
    file: 'src/submissions/findings/get-results.ts',
    text: 'nameFilters(query)}`\n      const etag',
    replacement: "''}`\n      const etag",
    test: PAGING,
  },
  {
    fault: 'the ETag of an export ignores the filters',
    file: 'src/submissions/findings/get-results.ts',
    text: '+details${nameFilters(query)}`',
    replacement: '+details`',
    test: PAGING,
  },
  {
    fault: 'the ETag of a filtered page has the value without the name of the filter',
    file: 'src/submissions/findings/get-results.ts',
    text: '? [] : [[name, query[name]]]',
    replacement: '? [] : [[query[name]]]',
    test: PAGING,
  },
  {
    fault: 'the second page of results starts one entry early',
    file: 'src/submissions/findings/get-results.ts',
    text: '(page - 1) * pageSize, pageSize)',
    replacement: '(page - 1) * pageSize - (page > 1 ? 1 : 0), pageSize)',
    test: PAGING,
  },
  {
    fault: 'only the last of several filters counts',
    file: 'src/submissions/findings/filters.ts',
    text: 'selected = selected?.and(found) ?? found',
    replacement: 'selected = found',
    test: 'test/results.filters.test.ts',
  },
  {
    fault: 'a comparison matches a finding that occurs once with any number of equal ones',
    file: 'src/submissions/findings/compare.ts',
    text: 'this.#heads[at] = this.#next[head - 1] || EMPTY',
    replacement: 'this.#heads[at] = head',
    test: 'test/results.filters.test.ts',
  },
  {
    fault: 'learners are listed in the order of their identifiers',
    file: 'src/submissions/findings/store-run.ts',
    text: 'other.findings - one.findings',
    replacement: '0',
    test: 'test/results.places.test.ts',
  },
  {
    fault: 'requests and cancellations leave runs without bound',
    file: 'src/submissions/runs/validation.ts',
    text: 'await forgetOldRuns(writer, token)',
    replacement: '',
    test: 'test/submissions.http.test.ts',
  },
  {
    fault: 'a reopening lasts until its return closes',
    file: 'src/submissions/explanations/reopen.ts',
    text: 'expires = $2',
    replacement: 'expires = case when expires > $2 then expires else $2 end',
    test: 'test/submissions.explanations.test.ts',
  },
  {
    fault: 'describing a return replaces another one without asking',
    file: 'src/submissions/returns/operations.ts',
    text: 'known !== undefined && changes',
    replacement: 'known !== undefined && changes && wanted !== undefined',
    test: 'test/submissions.returns.test.ts',
  },
  {
    fault: 'a rule that was stopped counts as one without findings',
    file: 'src/submissions/explanations/submit.ts',
    text: 'if (stopped.length === 0) return',
    replacement: 'if (stopped.length >= 0) return',
    test: 'test/submissions.explanations.test.ts',
  },
  // The bodies of 400.
  {
    fault: 'a page past the last one is an empty page',
    file: 'src/submissions/findings/get-results.ts',
    text: 'if (page <= lastPage) return\n',
    replacement: 'if (page <= lastPage + 1) return\n',
    test: PARAMETERS,
  },
  {
    fault: 'a page past the last one is PR1',
    file: 'src/submissions/findings/get-results.ts',
    text: "refusePage('PR2', [",
    replacement: "refusePage('PR1', [",
    test: PARAMETERS,
  },
  {
    fault: 'a run without findings has no first page',
    file: 'src/submissions/findings/get-results.ts',
    text: 'Math.max(1, Math.ceil(submission.totalCount / pageSize))',
    replacement: 'Math.ceil(submission.totalCount / pageSize)',
    test: PAGING,
  },
  {
    fault: 'the body of a 400 lacks the return',
    file: 'src/submissions/findings/get-results.ts',
    text: '{ errors, returnId, submissionToken,',
    replacement: '{ errors, submissionToken,',
    test: PARAMETERS,
  },
  // Publishing.
  {
    fault: 'a publish with a fault at its end is stored',
    file: 'src/submissions/findings/publish.ts',
    text: '  faults.throwIfFound()\n',
    replacement: '',
    test: PUBLISHING,
  },
  {
    fault: 'a publish deletes the run that readers may still read',
    file: 'src/submissions/findings/runs.ts',
    text: 'const FINDINGS_KEPT = 2',
    replacement: 'const FINDINGS_KEPT = 1',
    test: PUBLISHING,
  },
  {
    fault: 'results can be published to a submission of another organisation',
    file: 'src/submissions/findings/publish.ts',
    text: 'found.eid !== eid || found.returnId !== returnId',
    replacement: 'found.returnId !== returnId',
    test: PUBLISHING,
  },
  // Encryption.
  {
    fault: 'ciphertext is not bound to its position (no associated data)',
    file: 'src/foundation/database/seal.ts',
    text: '.setAAD(Buffer.from(context))\n    const sealed',
    replacement: '.setAAD(Buffer.alloc(0))\n    const sealed',
    test: ENCRYPTION,
  },
  {
    fault: 'neither encryption nor decryption knows the position',
    file: 'src/foundation/database/seal.ts',
    text: '  open(data: Uint8Array, context: string): Buffer {',
    replacement:
      "  open(data: Uint8Array, given: string): Buffer {\n    const context = given.replace(/\\d+$/, '')",
    test: ENCRYPTION,
  },
  {
    fault: 'the nonce of the encryption is never incremented',
    file: 'src/foundation/database/seal.ts',
    text: 'nonce.writeUIntBE(++this.#count,',
    replacement: 'nonce.writeUIntBE(this.#count,',
    test: ENCRYPTION,
  },
  {
    fault: 'all objects are encrypted with one derived key',
    file: 'src/foundation/database/seal.ts',
    text: 'const salt = randomBytes(SALT)',
    replacement: 'const salt = Buffer.alloc(SALT)',
    test: ENCRYPTION,
  },
  {
    fault: 'an encrypted database opens with another key of the same name',
    file: 'src/submissions/encryption/open-sealer.ts',
    text: 'if (error instanceof DecryptionFailed) return false',
    replacement: 'if (error instanceof DecryptionFailed) return true',
    test: ENCRYPTION,
  },
  // Purge and retention.
  {
    fault: 'purging a submission leaves its explanations',
    file: 'src/submissions/owned.ts',
    text: "    { table: 'submission_explanation' },\n",
    replacement: '',
    test: RETENTION,
  },
  {
    fault: 'purging a submission leaves its receipts',
    file: 'src/submissions/owned.ts',
    text: "    { table: 'submission_receipt' },\n",
    replacement: '',
    test: RETENTION,
  },
  {
    fault: 'the files that a run will read are deleted once they are replaced',
    file: 'src/submissions/retention/purge.ts',
    text: 'r.token = v.token and r.completed is null and',
    replacement: 'r.token = v.token and r.completed > 0 and',
    test: STORAGE,
  },
  {
    fault: 'retention ignores that a submission was reopened',
    file: 'src/submissions/retention/retention.ts',
    text: ' and coalesce(s.reopened_until, 0) < $1',
    replacement: '',
    test: RETENTION,
  },
  {
    fault: 'retention ignores when a submission was submitted',
    file: 'src/submissions/retention/retention.ts',
    text: ' and coalesce(s.ended_at, 0) < $1',
    replacement: '',
    test: RETENTION,
  },
  {
    fault: 'retention deletes a day too late',
    file: 'src/submissions/retention/retention.ts',
    text: '  const before = Date.now() - days * DAY\n  const rows = await database.all<SubmissionName>',
    replacement:
      '  const before = Date.now() - (days + 2) * DAY\n  const rows = await database.all<SubmissionName>',
    test: RETENTION,
  },
  {
    fault: 'retention deletes the files that a run in progress reads',
    file: 'src/submissions/retention/retention.ts',
    text: '\n       and not exists (select 1 from submission_run r where r.token = s.token and r.completed is null)',
    replacement: '',
    test: RETENTION,
  },
  {
    fault: 'retention deletes results once the first run is old',
    file: 'src/submissions/retention/retention.ts',
    text: 'having max(coalesce(r.completed, r.received)) < $1',
    replacement: 'having min(coalesce(r.completed, r.received)) < $1',
    test: RETENTION,
  },
  {
    fault: 'a cancelled submission is forgotten before its data is deleted for long enough',
    file: 'src/submissions/retention/retention.ts',
    text: 'purged is not null and ended_at < $1`',
    replacement: 'purged is not null and ended_at < $1 + 99999999999`',
    test: RETENTION,
  },
  // States, submitting and receipts.
  {
    fault: 'a return with errors can be submitted',
    file: 'src/submissions/explanations/submit.ts',
    text: 'if (run.errors > 0)',
    replacement: 'if (run.errors > 1_000)',
    test: 'test/submissions.http.test.ts',
  },
  {
    fault: 'files that were changed after the run can be submitted',
    file: 'src/submissions/explanations/submit.ts',
    text: 'if (run.revision !== submission.revision)',
    replacement: 'if (run.revision > submission.revision)',
    test: EXPLANATIONS,
  },
  {
    fault: 'a receipt has the digest of the upload instead of the merged file',
    file: 'src/submissions/explanations/submit.ts',
    text: "sha256: digests.get(file.resource) ?? '',",
    replacement: 'sha256: file.sha256,',
    test: EXPLANATIONS,
  },
  {
    fault: 'submitted files can be changed',
    file: 'src/submissions/submission.ts',
    text: "  if (submission.ended === 'Submitted')\n    throw new Problem('conflict', 'The submission was submitted",
    replacement:
      "  if (submission.ended === null && submission.run < 0)\n    throw new Problem('conflict', 'The submission was submitted",
    test: 'test/submissions.http.test.ts',
  },
  {
    fault: 'a submission stays validated when its files change',
    file: 'src/submissions/submission.ts',
    text: "current && covered ? 'Validated'",
    replacement: "current ? 'Validated'",
    test: STORAGE,
  },
  {
    fault: 'receipts of a return are numbered by submission',
    file: 'src/submissions/explanations/receipt.ts',
    text: 'where s.eid = $1 and s.return_id = $2`,\n    [eid, returnId],',
    replacement: 'where s.eid = $1 and s.return_id = $2 and s.token = $3`,\n    [eid, returnId, token],',
    test: EXPLANATIONS,
  },
  {
    fault: 'a submitted submission can be opened again beside its successor',
    file: 'src/submissions/explanations/reopen.ts',
    text: 'if (other !== undefined)',
    replacement: "if (other?.token === '')",
    test: EXPLANATIONS,
  },
  // Explanations and activity.
  {
    fault: 'an explanation holds for any number of findings',
    file: 'src/submissions/explanations/explanation.ts',
    text: 'state: found <= mostExplained(findings)',
    replacement: 'state: found <= mostExplained(findings) + 100',
    test: EXPLANATIONS,
  },
  {
    fault: 'one explained cause explains all findings of a code',
    file: 'src/submissions/explanations/explanation.ts',
    text: 'causes.every(({ key }) => holds.has(key))',
    replacement: 'causes.some(({ key }) => holds.has(key))',
    test: EXPLANATIONS,
  },
  {
    fault: 'every download of a minute is an activity',
    file: 'src/submissions/activity/activity.ts',
    text: 'if (known === undefined) await recordActivity',
    replacement: 'if (known !== null) await recordActivity',
    test: ACTIVITY,
  },
  {
    fault: 'downloads of different files within a minute are one activity',
    file: 'src/submissions/activity/activity.ts',
    text: "and coalesce(file, '') = $4 and time",
    replacement: "and coalesce($4, '') = $4 and time",
    test: ACTIVITY,
  },
  {
    fault: 'the activities of a submission are lost with its data',
    file: 'src/submissions/owned.ts',
    text: "    { table: 'submission_receipt' },\n",
    replacement: "    { table: 'submission_receipt' },\n    { table: 'activity' },\n",
    test: RETENTION,
  },
  // Archives in uploads.
  {
    fault: 'the files that unpack from an archive have no limit together',
    file: 'src/engines/checking/unpack.ts',
    text: 'room -= chunk.length',
    replacement: 'room -= 0',
    test: CONTAINERS,
  },
  {
    fault: 'a file can be unpacked outside of its folder',
    file: 'src/engines/checking/unpack.ts',
    text: 'if (!target.startsWith(folder + sep))',
    replacement: 'if (target === folder)',
    test: CONTAINERS,
  },
  {
    fault: 'encrypted files of an archive are read',
    file: 'src/engines/checking/unpack.ts',
    text: 'if (entry.isEncrypted)',
    replacement: "if (entry.path === '')",
    test: CONTAINERS,
  },
  // Returns and their causes.
  {
    fault: 'the causes of a return count the runs of each organisation instead of the organisations',
    file: 'src/submissions/returns/causes.ts',
    text: 'count(distinct s.eid)',
    replacement: 'count(*)',
    test: RETURNS,
  },
  {
    fault: 'the causes of the run before are counted too',
    file: 'src/submissions/returns/causes.ts',
    text: '  await deleteCauses(writer, token)\n  const counts',
    replacement: '  const counts',
    test: RETURNS,
  },
  {
    fault: 'an organisation that is not expected can submit a return',
    file: 'src/submissions/returns/assert-collected.ts',
    text: 'if (!isExpected(found, eid))',
    replacement: "if (eid === '')",
    test: RETURNS,
  },
  {
    fault: 'a submission can be created after its return has closed',
    file: 'src/submissions/returns/assert-collected.ts',
    text: "window === 'Closed' && !(await isReopened(reader, eid, returnId))",
    replacement: "window === 'Closed' && (await isReopened(reader, eid, returnId))",
    test: RETURNS,
  },
  {
    fault: 'suspended organisations are waited for',
    file: 'src/submissions/returns/operations.ts',
    text: '.filter((eid) => !suspended.has(eid))',
    replacement: '',
    test: RETURNS,
  },
  {
    fault: 'a submission of a closed return is open',
    file: 'src/submissions/submission.ts',
    text: 'return closes !== null && closes <= now && (reopenedUntil ?? 0) <= now',
    replacement: 'return closes !== null && closes <= now && (reopenedUntil ?? 0) <= now && closes === now',
    test: RETURNS,
  },
  // The collection of a return.
  {
    fault: 'the export of a return has files that were not submitted',
    file: 'src/submissions/returns/export-return.ts',
    text: "where return_id = $1 and ended = 'Submitted' and created is not null",
    replacement: 'where return_id = $1 and created is not null',
    test: COLLECTION,
  },
  {
    fault: 'the export of a return mixes files of different moments',
    file: 'src/submissions/returns/export-return.ts',
    text: 'await database.snapshot((reader) => writeAll(reader, folder, options))',
    replacement: 'await writeAll(database, folder, options)',
    test: COLLECTION,
  },
  {
    fault: 'the export of a return replaces a folder that has files',
    file: 'src/submissions/returns/export-return.ts',
    text: 'readdirSync(output).length > 0',
    replacement: 'readdirSync(output).length > 1_000',
    test: COLLECTION,
  },
  {
    fault: 'the export of a return does not compare the files with the receipt',
    file: 'src/submissions/returns/export-return.ts',
    text: 'if (written.sha256 !== sha256)',
    replacement: "if (written.sha256 === '')",
    test: COLLECTION,
  },
  // Repairs.
  {
    fault: 'a repair replaces files that have changed since it was requested',
    file: 'src/submissions/files/do-file-job.ts',
    text: 'if (now.revision !== revision) throw new FileGone()\n  await',
    replacement: 'if (now.revision < revision) throw new FileGone()\n  await',
    test: REPAIRS,
  },
  {
    fault: 'a repair is made for a key that was revoked',
    file: 'src/submissions/files/do-file-job.ts',
    text: '(!isKey(actor) ||',
    replacement: "(actor.id !== '' ||",
    test: REPAIRS,
  },
  {
    fault: 'a run reads files while they are repaired',
    file: 'src/submissions/files/file-job.ts',
    text: "const CHANGES = `('upload', 'repair')`",
    replacement: "const CHANGES = `('upload')`",
    test: REPAIRS,
  },
  {
    fault: 'a repair can be undone after another file has changed',
    file: 'src/submissions/files/undo.ts',
    text: "where token = $1', [owner.token])\n  await forgetPrevious(writer, owner)",
    replacement: "where token = $1', [owner.token])",
    test: REPAIRS,
  },
  {
    fault: 'the files before a repair are deleted while it can be undone',
    file: 'src/submissions/retention/purge.ts',
    text: 'v.version in (f.version, f.previous)',
    replacement: 'v.version = f.version',
    test: REPAIRS,
  },
  {
    fault: 'a repair is made although the files are no longer those of the preview',
    file: 'src/submissions/files/repairs.ts',
    text: '!hasEtag(wanted, etagOf(submission.revision))',
    replacement: 'wanted.length === 0',
    test: REPAIRS,
  },
  {
    fault: 'a preview names causes that a repair does not clear',
    file: 'src/submissions/files/repairs.ts',
    text: '!remaining.has(key)',
    replacement: "key !== ''",
    test: REPAIRS,
  },
] satisfies Mutation[]
