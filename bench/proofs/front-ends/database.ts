// What `supabase gen types typescript` prints of the tables.
interface CarRow {
  id: number
  uid: string
  created_at: string
  updated_at: string
  color: 'red' | 'blue'
  price: number
  model_id: number
  buyer: string | null
}
type CarInsert = Pick<CarRow, 'color' | 'price' | 'model_id'> & Partial<CarRow>
type PhotoRow = { id: number; comment: string; path: string }
type ModelRow = { id: number; name: string }
type Row<T> = { [K in keyof T]: T[K] }
export type Database = {
  public: {
    Tables: {
      cars: {
        Row: Row<CarRow>
        Insert: Row<CarInsert>
        Update: Row<Partial<CarRow>>
        Relationships: [
          {
            foreignKeyName: 'cars_model_id_fkey'
            columns: ['model_id']
            isOneToOne: false
            referencedRelation: 'models'
            referencedColumns: ['id']
          },
        ]
      }
      models: {
        Row: ModelRow
        Insert: { name: string }
        Update: Partial<ModelRow>
        Relationships: []
      }
      photos: {
        Row: PhotoRow
        Insert: { comment: string; path: string }
        Update: Partial<PhotoRow>
        Relationships: []
      }
    }
    Views: Record<never, never>
    Functions: {
      make_car: { Args: { name: string; car: object }; Returns: Row<CarRow> }
      buy_car: { Args: { car_id: number; buyer: string }; Returns: Row<CarRow> }
    }
  }
}
