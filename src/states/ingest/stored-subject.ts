import { SUBJECTS } from '../../events/states.ts'
import { lazyValidator } from '../../http/validation.ts'
import type { SubjectRow } from '../../store/operations/calls.ts'
import type { Present, StoredSubject, Subject } from '../board/subject.ts'

// Stored states of phones, trunks, agents and queues: used after a restart, and by other nodes for display.

const CHECKS = {
  phone: lazyValidator(SUBJECTS.phone),
  trunk: lazyValidator(SUBJECTS.trunk),
  agent: lazyValidator(SUBJECTS.agent),
  queue: lazyValidator(SUBJECTS.queue),
}

/** Returns the row of a subject; without a state if it is gone. */
export function subjectRow(id: string, subject: Subject | undefined): SubjectRow {
  if (subject === undefined) return { id, state: null }
  const { account, present, emitted } = subject
  return { id, state: JSON.stringify({ account, present, emitted }) }
}

/** Reads a stored subject; `undefined` if another version stored it in another form. */
export function readSubject({ id, state }: { readonly id: string; readonly state: string }): StoredSubject | undefined {
  const stored: unknown = JSON.parse(state)
  const { account, present, emitted } = Object(stored)
  return (typeof account === 'string' || account === null) && isPresent(present) && isPresent(emitted)
    ? { id, account, present, emitted }
    : undefined
}

function isPresent(value: unknown): value is Present {
  const { kind, state, waitingSinceUs = null } = Object(value)
  if (waitingSinceUs !== null && typeof waitingSinceUs !== 'number') return false
  return typeof kind === 'string' && Object.hasOwn(CHECKS, kind) && CHECKS[kind as keyof typeof CHECKS]().Check(state)
}
