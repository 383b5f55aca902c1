import { InlineText } from '../../components/inline-text.tsx'
import type { Schema } from '../../lib/api-document.ts'
import { limitsOf, objectsIn, typeParts } from '../../lib/schema-text.ts'

/** Shows the type of a value; the names of schemas lead to them. */
export function TypeText({ schema }: { schema: Schema }) {
  return (
    <span class="doc-type">
      {typeParts(schema).map(({ text, schema: name }, at) =>
        name === undefined ? (
          text
        ) : (
          <a key={at} href={`#schema-${name}`}>
            {text}
          </a>
        ),
      )}
    </span>
  )
}

/** Shows the limits of a value. */
export function Limits({ schema }: { schema: Schema }) {
  const limits = limitsOf(schema)
  if (limits.length === 0) return null
  return (
    <p class="doc-limits">
      {limits.map((limit) => (
        <code key={limit}>{limit}</code>
      ))}
    </p>
  )
}

/** Shows the fields of an object or of a list's items; fields of nested objects are folded away below their own. */
export function SchemaFields({ schema }: { schema: Schema }) {
  const objects = objectsIn(schema)
  if (objects.length === 0)
    return (
      <>
        <p>
          <TypeText schema={schema} />{' '}
          {schema.description === undefined ? null : <InlineText text={schema.description} />}
        </p>
        <Limits schema={schema} />
      </>
    )
  return (
    <>
      {schema.type === 'array' ? <Limits schema={{ ...schema, items: {} }} /> : null}
      {objects.map((object, at) => (
        <dl class="doc-fields" key={at}>
          {Object.entries(object.properties ?? {}).map(([name, field]) => (
            <Field key={name} name={name} schema={field} optional={!object.required?.includes(name)} />
          ))}
        </dl>
      ))}
    </>
  )
}

function Field({ name, schema, optional }: { name: string; schema: Schema; optional: boolean }) {
  const inner = objectsIn(schema)
  return (
    <div class="doc-field">
      <dt>
        <code class="doc-name">{name}</code> <TypeText schema={schema} />
        {optional ? <span class="dim"> optional</span> : null}
      </dt>
      <dd>
        {schema.description === undefined ? null : (
          <p>
            <InlineText text={schema.description} />
          </p>
        )}
        <Limits schema={schema} />
        {inner.length === 0 ? null : (
          <details>
            <summary>Fields of {name}</summary>
            <SchemaFields schema={schema} />
          </details>
        )}
      </dd>
    </div>
  )
}
