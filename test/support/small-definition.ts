import { define } from './definition.ts'

/** A definition of two small files, in a separate folder: people, each in a group. */
export function makeSmallDefinition(): string {
  return define(
    {
      people: {
        fields: [
          { name: 'localId' },
          { name: 'id', constraints: { required: true, maxLength: 4 } },
          { name: 'group' },
          { name: 'age', type: 'integer', constraints: { minimum: 16 } },
        ],
        primaryKey: ['id'],
        foreignKeys: [{ fields: ['group'], reference: { resource: 'groups', fields: ['code'] } }],
        resource: {
          'mahi:code': 'PER',
          'mahi:fileType': 'Learner',
          'mahi:record': { localId: 'localId', studentId: 'id', courseCode: 'group' },
          'mahi:optional': true,
        },
      },
      groups: {
        fields: [
          { name: 'localId' },
          { name: 'code', constraints: { required: true } },
          {
            ...{ name: 'title', constraints: { maxLength: 8 } },
            'mahi:checks': { length: { severity: 'Warning' } },
          },
        ],
        primaryKey: ['code'],
        resource: {
          'mahi:code': 'GRP',
          'mahi:fileType': 'Course',
          'mahi:record': { localId: 'localId', courseCode: 'code' },
          'mahi:optional': true,
        },
      },
    },
    { name: 'small', version: '1.0.0', 'mahi:return': { default: '202512', pattern: '20[0-9]{4}' } },
  )
}

/** A file of people for the small definition: each one under 16 is a finding. */
export function makePeople(name: string, count: number, young: number): { csv: string; findings: string[] } {
  const rows = Array.from({ length: count }, (_, index) => ({
    localId: `${name}-${index}`,
    line: `${name}-${index},${index.toString(36)},,${index < young ? 10 : 30}\n`,
  }))
  return {
    csv: `localId,id,group,age\n${rows.map(({ line }) => line).join('')}`,
    findings: rows.slice(0, young).map(({ localId }) => localId),
  }
}
