/** The name of the list of changes. */
export const CHANGES = 'mahi-changes.csv'
