// An admin of cars on the core of Refine: its hooks, with plain inputs. The address says what is shown, as JSON.
import { Refine, useDelete, useList, useMany } from '@refinedev/core'
import { useForm } from '@refinedev/react-hook-form'
import { createRoot } from 'react-dom/client'
import { dataProvider } from './provider.js'

const shown = JSON.parse(decodeURIComponent(location.hash.slice(1)) || '{}')

function List() {
  const { result, query } = useList({ resource: 'cars', ...shown.list })
  const { mutate } = useDelete()
  return (
    <>
      <p id="total">{query.isSuccess ? result.total : ''}</p>
      <p id="failed">{query.error?.message}</p>
      <ul>
        {result.data.map(car => (
          <li key={car.id}>
            <span>{car.plate}</span>
            <i>{car.maker?.name}</i>
            <button type="button" onClick={() => mutate({ resource: 'cars', id: car.id })}>
              Delete {car.plate}
            </button>
          </li>
        ))}
      </ul>
    </>
  )
}

function Many() {
  const { result } = useMany({ resource: 'makers', ids: shown.many })
  return (
    <ul>
      {result.data?.map(({ id, name }) => (
        <li key={id}>
          <span>{name}</span>
        </li>
      ))}
    </ul>
  )
}

function Form() {
  const {
    refineCore: { onFinish, mutation, query },
    register,
    handleSubmit,
    formState: { errors },
  } = useForm({
    refineCoreProps: {
      resource: 'cars',
      redirect: false,
      invalidates: ['list', 'many'],
      queryOptions: { refetchOnWindowFocus: false },
      ...shown.form,
    },
  })
  if (shown.form.action === 'edit' && !query?.data) return 'Loading'
  return (
    <form onSubmit={handleSubmit(values => onFinish(values).catch(() => {}))}>
      {['plate', 'color', 'model.name'].map(name => (
        <p key={name}>
          <label htmlFor={name}>{name}</label> <input id={name} {...register(name)} />
          <b id={`${name}-error`}>
            {name.split('.').reduce((all, part) => all?.[part], errors)?.message}
          </b>
        </p>
      ))}
      <button type="submit">Save</button>
      <p id="notice">
        {mutation.isSuccess ? 'Saved' : mutation.isError ? mutation.error.message : ''}
      </p>
    </form>
  )
}

createRoot(document.getElementById('root')).render(
  <Refine
    dataProvider={dataProvider(new URLSearchParams(location.search).get('api'))}
    resources={[{ name: 'cars' }, { name: 'makers' }]}
    options={{
      disableTelemetry: true,
      reactQuery: { clientConfig: { defaultOptions: { queries: { retry: false } } } },
    }}
  >
    {shown.list ? <List /> : shown.many ? <Many /> : <Form />}
  </Refine>,
)
