/** Most records that a page may have, whatever the settings. */
export const MOST_RECORDS = 1_000
