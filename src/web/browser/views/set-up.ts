import { AccountView } from './account/account-view.tsx'
import { ConnectView } from './pbxs/connect-view.tsx'
import { PbxEdit } from './pbxs/pbx-edit.tsx'
import { PbxsView } from './pbxs/pbxs-view.tsx'
import { PeopleView } from './people/people-view.tsx'
import { ContactsDialog } from './webhooks/contacts-dialog.tsx'
import { CrmDialog, NewCrm } from './webhooks/crm-dialog.tsx'

/** The views for setting up, which people open seldom: a script of their own, loaded after the page. */
export const SET_UP = { AccountView, ConnectView, PbxEdit, PbxsView, PeopleView, ContactsDialog, CrmDialog, NewCrm }
