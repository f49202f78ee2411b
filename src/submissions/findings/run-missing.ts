/** The findings of a run are not stored, or not any more: it was replaced, deleted or restored meanwhile. */
export class RunMissing extends Error {}
