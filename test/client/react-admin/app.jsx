// An admin of cars on the core of react-admin: its lists, forms, notifications and data provider, with plain inputs.

import {
  CoreAdmin,
  CreateBase,
  EditBase,
  Form,
  ListBase,
  ReferenceFieldBase,
  Resource,
  useDelete,
  useDeleteMany,
  useGetMany,
  useGetManyReference,
  useInput,
  useListContext,
  useNotificationContext,
  useRecordContext,
  useUpdateMany,
} from 'ra-core'
import simpleRest from 'ra-data-simple-rest'
import { createRoot } from 'react-dom/client'
import { conditional, httpClient, nullModel, withPatch } from './clients.jsx'

const parameters = new URLSearchParams(location.search)
const client = { conditional, httpClient }[parameters.get('client')]
const url = parameters.get('api')
const provider = withPatch(simpleRest(url, client), url, client)

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
    <Input source="model.name" />
    <button type="submit">Save</button>
  </Form>
)
const layout = ({ children }) => (
  <>
    {children}
    <Notifications />
  </>
)

const Plate = () => useRecordContext()?.plate

function Cars() {
  const { data, total, page, setPage, setPerPage, setSort, setFilters, isFetching } =
    useListContext()
  const [remove] = useDelete()
  const [update] = useUpdateMany()
  const buttons = {
    next: () => setPage(page + 1),
    two: () => setPerPage(2),
    plate: () => setSort({ field: 'plate', order: 'DESC' }),
    red: () => setFilters({ color: 'red' }),
    both: () => setFilters({ color: ['red', 'blue'] }),
    paint: () => update('cars', { ids: [2, 3], data: { color: 'green' } }),
    delete: () => remove('cars', { id: 12 }),
  }
  return (
    <>
      <h1>The list</h1>
      <p id="total">{total}</p>
      <ul>
        {!isFetching &&
          data?.map(({ id, plate, color }) => <li key={id}>{`${plate} ${color}`}</li>)}
      </ul>
      {Object.entries(buttons).map(([name, onClick]) => (
        <button key={name} type="button" onClick={onClick}>
          {name}
        </button>
      ))}
    </>
  )
}

function Options() {
  const { data, isFetching } = useListContext()
  const { data: many } = useGetMany('cars', { ids: [1, 2] })
  const { data: own } = useGetManyReference('options', { target: 'car_id', id: 1 })
  const [remove] = useDeleteMany('options', { ids: [1, 2] })
  return (
    <>
      <h1>Options</h1>
      <ul>
        {!isFetching &&
          data?.map(option => (
            <li key={option.id}>
              {option.name}{' '}
              <ReferenceFieldBase source="car_id" reference="cars" record={option}>
                <Plate />
              </ReferenceFieldBase>
            </li>
          ))}
      </ul>
      <p id="many">{many?.map(({ plate }) => plate).join()}</p>
      <p id="own">{own?.map(({ name }) => name).join()}</p>
      <button type="button" onClick={() => remove()}>
        delete both
      </button>
    </>
  )
}

createRoot(document.getElementById('root')).render(
  <CoreAdmin dataProvider={provider} layout={layout}>
    <Resource
      name="cars"
      list={
        <ListBase>
          <Cars />
        </ListBase>
      }
      create={
        <CreateBase redirect="list" transform={nullModel}>
          {form}
        </CreateBase>
      }
      edit={
        <EditBase mutationMode="pessimistic" transform={nullModel}>
          {form}
        </EditBase>
      }
    />
    <Resource
      name="options"
      list={
        <ListBase>
          <Options />
        </ListBase>
      }
    />
  </CoreAdmin>,
)
