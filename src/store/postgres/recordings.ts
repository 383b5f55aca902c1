/**
 * Returns the part of a statement that stores recordings as they are now, by the numbers of its parameters: of each its
 * job (int[]), and itself as JSON (text[]). One that is pending no more stays as it is.
 */
export const RECORDED = (jobs: number, rows: number, condition: string): string => `
recorded AS (
  INSERT INTO recordings (call_id, id, account_id, pbx, path, state, since, sequence, error, size, stamp, sha256, media_type, copy)
  SELECT o.j->>'callId', o.j->>'id', (o.j->>'accountId')::bigint, o.j->>'pbx', o.j->>'path', o.j->>'state',
    (o.j->>'sinceUs')::bigint, (o.j->>'sequence')::int, o.j->>'error', (o.j->>'sizeBytes')::bigint, o.j->>'stamp', o.j->>'sha256',
    o.j->>'mediaType', o.j->>'copy'
  FROM unnest($${jobs}::int[], $${rows}::text[]) AS r(job, row) CROSS JOIN LATERAL (SELECT r.row::json AS j) AS o ${condition}
  ON CONFLICT (call_id, id) DO UPDATE SET state = excluded.state, error = excluded.error, size = excluded.size,
    stamp = excluded.stamp, sha256 = excluded.sha256, media_type = excluded.media_type, copy = excluded.copy
  WHERE recordings.state = 'pending'),`
