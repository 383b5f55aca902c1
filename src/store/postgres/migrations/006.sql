-- The states of webhooks as the owners of their accounts report them, for all nodes to show. A row counts while its
-- term is the term of the lease.
CREATE TABLE webhook_statuses (
  webhook_id bigint PRIMARY KEY REFERENCES webhooks (id) ON DELETE CASCADE,
  term       text NOT NULL,
  status     text NOT NULL -- JSON
) WITH (fillfactor = 50);

-- The accounts whose deliveries are shown by a node as they change.
CREATE TABLE followed_accounts (
  node       text NOT NULL,
  account_id bigint NOT NULL,
  until      timestamptz NOT NULL,
  PRIMARY KEY (node, account_id)
);

-- Deliveries that changed in the last seconds, of accounts that other nodes follow.
CREATE TABLE delivery_changes (
  node       text NOT NULL,
  number     bigint NOT NULL, -- grows with each note of a node
  account_id bigint NOT NULL,
  ids        text NOT NULL,   -- separated by commas
  at         timestamptz NOT NULL,
  PRIMARY KEY (account_id, node, number)
);
