import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { SubjectRow } from '../../store/operations/calls.ts'
import type { StoredSubject } from '../board/board.ts'
import type { Present, Subject } from '../board/subject.ts'
import { SUBJECTS } from '../model.ts'

// Phones, trunks, agents and queues as the store has them: for the time after a restart, and for other nodes to show.

const CHECKS = {
  phone: TypeCompiler.Compile(SUBJECTS.phone),
  trunk: TypeCompiler.Compile(SUBJECTS.trunk),
  agent: TypeCompiler.Compile(SUBJECTS.agent),
  queue: TypeCompiler.Compile(SUBJECTS.queue),
}

/** Returns a subject as it is stored; one that is gone is removed. */
export function subjectRow(id: string, subject: Subject | undefined): SubjectRow {
  if (subject === undefined) return { id, state: null }
  const { account, present, told } = subject
  return { id, state: JSON.stringify({ account, present, told }) }
}

/** Reads a stored subject; `undefined` if another version stored it in another form. */
export function readSubject({ id, state }: { readonly id: string; readonly state: string }): StoredSubject | undefined {
  const stored: unknown = JSON.parse(state)
  const { account, present, told } = Object(stored)
  return (typeof account === 'string' || account === null) && isPresent(present) && isPresent(told)
    ? { id, account, present, told }
    : undefined
}

function isPresent(value: unknown): value is Present {
  const { kind, state, waitingSinceUs = null } = Object(value)
  if (waitingSinceUs !== null && typeof waitingSinceUs !== 'number') return false
  return typeof kind === 'string' && Object.hasOwn(CHECKS, kind) && CHECKS[kind as keyof typeof CHECKS].Check(state)
}
