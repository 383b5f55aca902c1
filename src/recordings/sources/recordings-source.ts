import { type Static, Type } from '@sinclair/typebox'

/** The place of a PBX's recordings. */
export const RecordingsSource = Type.Object({
  /** The path of a folder, or the URL below which the files are, without user and password. */
  location: Type.String({ minLength: 1 }),
  /** The folder on the PBX that is at the location; `null`: it is found by the name of the location. */
  root: Type.Union([Type.String(), Type.Null()]),
  /** The header `Authorization` of requests to a URL. */
  authorization: Type.Optional(Type.String()),
})
export type RecordingsSource = Static<typeof RecordingsSource>
