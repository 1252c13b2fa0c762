// An admin of cars on the core of react-admin: its forms, notifications and data provider, with plain inputs.

import {
  CoreAdmin,
  CreateBase,
  EditBase,
  Form,
  ListBase,
  Resource,
  useInput,
  useNotificationContext,
} from 'ra-core'
import simpleRest from 'ra-data-simple-rest'
import { createRoot } from 'react-dom/client'
import { conditional, httpClient } from './clients.jsx'

function Input({ source }) {
  const { id, field, fieldState } = useInput({ source })
  return (
    <p>
      <label htmlFor={id}>{source}</label> <input id={id} {...field} />
      <b id={`${source}-error`}>{fieldState.error?.message}</b>
    </p>
  )
}

function Notifications() {
  const { notifications } = useNotificationContext()
  return <p id="notice">{notifications.at(-1)?.message}</p>
}

const form = (
  <Form>
    <Input source="plate" />
    <Input source="color" />
    <button type="submit">Save</button>
  </Form>
)
const layout = ({ children }) => (
  <>
    {children}
    <Notifications />
  </>
)
const parameters = new URLSearchParams(location.search)
const client = { conditional, httpClient }[parameters.get('client')]

createRoot(document.getElementById('root')).render(
  <CoreAdmin dataProvider={simpleRest(parameters.get('api'), client)} layout={layout}>
    <Resource
      name="cars"
      list={
        <ListBase>
          <h1>The list</h1>
        </ListBase>
      }
      create={<CreateBase redirect="list">{form}</CreateBase>}
      edit={<EditBase mutationMode="pessimistic">{form}</EditBase>}
    />
  </CoreAdmin>,
)
