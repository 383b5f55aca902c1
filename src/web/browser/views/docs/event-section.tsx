import { CodeBlock } from '../../components/code-block.tsx'
import { InlineText } from '../../components/inline-text.tsx'
import { type ApiDocument, type Operation, resolved } from '../../lib/api-document.ts'
import { SchemaFields } from './schema-fields.tsx'

type EventProps = { name: string; operation: Operation; document: ApiDocument }

/** Shows one kind of event: its headers and fields, and a whole body. */
export function EventSection({ name, operation, document }: EventProps) {
  const { schema, example } = operation.requestBody?.content['application/json'] ?? {}
  return (
    <section class="doc-endpoint" id={`event-${name}`} aria-labelledby={`event-${name}-title`}>
      <h3 id={`event-${name}-title`}>
        {/* A schema may have the same name. */}
        <code>{name}</code> <span class="hidden">event</span>
      </h3>
      <p>
        {operation.summary}. {operation.description === undefined ? null : <InlineText text={operation.description} />}
      </p>
      <details>
        <summary>Headers of the request</summary>
        <dl class="doc-fields">
          {(operation.parameters ?? []).map(({ name: header, description = '' }) => (
            <div class="doc-field" key={header}>
              <dt>
                <code class="doc-name">{header}</code>
              </dt>
              <dd>
                <InlineText text={description} />
              </dd>
            </div>
          ))}
        </dl>
      </details>
      {schema === undefined ? null : (
        <details>
          <summary>Fields of the body</summary>
          <SchemaFields schema={resolved(schema, document)} />
        </details>
      )}
      <details>
        <summary>A whole body</summary>
        <CodeBlock text={JSON.stringify(example, null, 2)} label={`a body of ${name}`} />
      </details>
    </section>
  )
}
