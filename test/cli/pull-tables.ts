// Tables in the shapes that well-known samples and frameworks make, written anew: what `rest-conventions pull` is tried on.

/** Of PostgreSQL, by the name of a schema. */
export const POSTGRES: Readonly<Record<string, string>> = {
  rentals: `
    create type rating as enum ('G', 'PG', 'PG-13', 'R');
    create domain year as integer check (value between 1901 and 2155);
    create domain state as text check (value in ('out', 'VALUE'));
    create function touch() returns trigger language plpgsql as $$ begin new.last_update = now(); return new; end $$;
    create table actor (actor_id serial primary key, first_name text not null, last_name varchar(45) not null, last_update timestamptz not null default now());
    create index on actor (last_name);
    create trigger touch before update on actor for each row execute function touch();
    comment on table actor is 'Who plays in films';
    comment on column actor.last_name is 'As in the credits';
    create table category (category_id serial primary key, name text not null, last_update timestamptz not null default now());
    create table language (language_id serial primary key, name char(20) not null, last_update timestamptz not null default now());
    create table country (country_id serial primary key, country text not null, last_update timestamptz not null default now());
    create table city (city_id serial primary key, city text not null, country_id int not null references country on update cascade on delete restrict, last_update timestamptz not null default now());
    create table address (address_id serial primary key, address text not null, address2 text, district text not null, city_id int not null references city, postal_code text, phone text not null, last_update timestamptz not null default now());
    create table film (film_id serial primary key, title text not null, description text, release_year year, language_id int not null references language, original_language_id int references language,
      rental_duration smallint not null default 3 check (rental_duration > 0), rental_rate numeric(4,2) not null default 4.99, length smallint, rating rating default 'G', features text[], fulltext tsvector not null,
      length_hours numeric(6,2) generated always as (length / 60.0) stored, last_update timestamptz not null default now());
    create function fill() returns trigger language plpgsql as $$ begin new.fulltext = to_tsvector('simple', new.title); return new; end $$;
    create trigger fill before insert or update on film for each row execute function fill();
    create table film_actor (actor_id int not null references actor, film_id int not null references film, last_update timestamptz not null default now(), primary key (actor_id, film_id));
    create table store (store_id serial primary key, manager_staff_id int unique, address_id int not null references address, last_update timestamptz not null default now());
    create table staff (staff_id serial primary key, first_name text not null, email text, address_id int not null references address, store_id int not null references store, active boolean not null default true, username text not null, password text, picture bytea, last_update timestamptz not null default now());
    alter table store add foreign key (manager_staff_id) references staff;
    create table customer (customer_id serial primary key, store_id int not null references store on delete restrict, first_name text not null, email text, activebool boolean not null default true, create_date date not null default current_date, active int, uuid uuid default gen_random_uuid());
    create unique index on customer (uuid);
    create table inventory (inventory_id serial primary key, film_id int not null references film, store_id int not null references store, last_update timestamptz not null default now());
    create index on inventory (store_id, film_id);
    create table rental (rental_id serial primary key, rental_date timestamptz not null, inventory_id int not null references inventory, customer_id int not null references customer, return_date timestamptz, staff_id int not null references staff, state state);
    create unique index on rental (rental_date, inventory_id, customer_id);
    create table payment (payment_id serial, customer_id int not null references customer, amount numeric(5,2) not null, payment_date timestamptz not null, primary key (payment_date, payment_id)) partition by range (payment_date);
    create table payment_all partition of payment default;
    create view customer_list as select customer_id as id, first_name as name, 'x' as "zip code" from customer;
    create view film_list as select film_id as fid, title from film`,
  trade: `
    create table categories (category_id smallint not null primary key, category_name varchar(15) not null, description text, picture bytea);
    create table customers (customer_id varchar(5) primary key, company_name varchar(40) not null, region varchar(15), fax varchar(24));
    create table employees (employee_id smallint primary key, last_name varchar(20) not null, birth_date date, photo bytea, notes text, reports_to smallint references employees);
    create table shippers (shipper_id smallint primary key, company_name varchar(40) not null, phone varchar(24));
    create table suppliers (supplier_id smallint primary key, company_name varchar(40) not null, homepage text);
    create table products (product_id smallint primary key, product_name varchar(40) not null, supplier_id smallint references suppliers, category_id smallint references categories, unit_price real, units_in_stock smallint, discontinued integer not null);
    create table orders (order_id smallint primary key, customer_id varchar(5) references customers, employee_id smallint references employees, order_date date, ship_via smallint references shippers, freight real);
    create table order_details (order_id smallint not null references orders, product_id smallint not null references products, quantity smallint not null, primary key (order_id, product_id));
    create table region (region_id smallint primary key, region_description varchar(60) not null);
    create table territories (territory_id varchar(20) primary key, territory_description varchar(60) not null, region_id smallint not null references region);
    create table us_states (state_id smallint primary key, state_name varchar(100), state_abbr varchar(2))`,
  music: `
    create table "Artist" ("ArtistId" int primary key, "Name" varchar(120));
    create table "Album" ("AlbumId" int primary key, "Title" varchar(160) not null, "ArtistId" int not null references "Artist");
    create table "Genre" ("GenreId" int primary key, "Name" varchar(120));
    create table "MediaType" ("MediaTypeId" int primary key, "Name" varchar(120));
    create table "Playlist" ("PlaylistId" int primary key, "Name" varchar(120));
    create table "Track" ("TrackId" int primary key, "Name" varchar(200) not null, "AlbumId" int references "Album", "MediaTypeId" int not null references "MediaType", "GenreId" int references "Genre", "Milliseconds" int not null, "UnitPrice" numeric(10,2) not null);
    create index "IFK_TrackAlbumId" on "Track" ("AlbumId");
    create table "PlaylistTrack" ("PlaylistId" int references "Playlist", "TrackId" int references "Track", primary key ("PlaylistId", "TrackId"));
    create table "Employee" ("EmployeeId" int primary key, "LastName" varchar(20) not null, "ReportsTo" int references "Employee", "BirthDate" timestamp);
    create table "Customer" ("CustomerId" int primary key, "FirstName" varchar(40) not null, "Email" varchar(60) not null, "SupportRepId" int references "Employee");
    create table "Invoice" ("InvoiceId" int primary key, "CustomerId" int not null references "Customer", "InvoiceDate" timestamp not null, "Total" numeric(10,2) not null);
    create table "InvoiceLine" ("InvoiceLineId" int primary key, "InvoiceId" int not null references "Invoice", "TrackId" int not null references "Track", "Quantity" int not null)`,
  drizzle: `
    create type role as enum ('user', 'admin');
    create table users (id serial primary key, name text not null, email varchar(255) not null unique, role role not null default 'user', age int check (age >= 0 and age < 150), created_at timestamptz not null default now(), updated_at timestamptz not null default now());
    create table posts (id uuid primary key default gen_random_uuid(), title varchar(256) not null check (char_length(title) >= 3), author_id int not null references users on delete cascade, slug text, published boolean not null default false, deleted_at timestamptz, metadata jsonb, settings jsonb not null default '{}');
    create unique index posts_slug on posts (slug) where deleted_at is null;
    create unique index posts_title on posts (lower(title));
    create index on posts (author_id);
    create table comments (id int primary key generated always as identity, post_id uuid not null references posts on delete cascade, parent_id int references comments on delete set null, body text not null, created_at timestamp not null default now());
    create table tags (id int primary key generated by default as identity, name text not null unique);
    create table posts_to_tags (post_id uuid not null references posts, tag_id int not null references tags, primary key (post_id, tag_id));
    create table profiles (user_id int primary key references users, bio text);
    create table sessions (id text primary key, user_id int not null references users, token text not null unique, expires_at timestamptz not null);
    create table invoices (id bigserial primary key, number text not null unique, total numeric(12,2) not null check (total >= 0), state text not null default 'open' check (state in ('open', 'paid')), issued_on date not null default current_date)`,
  social: `
    create table users (id serial primary key, name text not null);
    create table groups (name varchar(20) primary key);
    create table follows (follower_id int not null references users, followee_id int not null references users, since date not null default current_date, primary key (follower_id, followee_id));
    create table members (group_name varchar(20) not null references groups, user_id int not null references users, invited_by int references users, role text not null default 'member', created_at timestamptz not null default now(), updated_at timestamptz not null default now(), primary key (group_name, user_id));
    create index on members (user_id)`,
  prisma: `
    create type "Role" as enum ('USER', 'ADMIN');
    create table "_prisma_migrations" (id varchar(36) primary key, checksum varchar(64) not null);
    create table "User" (id text not null primary key, email text not null, name text, role "Role" not null default 'USER', "passwordHash" text, "createdAt" timestamp(3) not null default current_timestamp, "updatedAt" timestamp(3) not null);
    create unique index "User_email_key" on "User" (email);
    create table "Post" (id serial primary key, title text not null, content text, published boolean not null default false, "authorId" text not null references "User" on delete restrict on update cascade, "createdAt" timestamp(3) not null default current_timestamp);
    create table "Tag" (id serial primary key, name text not null);
    create table "_PostToTag" ("A" int not null references "Post", "B" int not null references "Tag");
    create unique index "_PostToTag_AB_unique" on "_PostToTag" ("A", "B")`,
  rails: `
    create table schema_migrations (version varchar primary key);
    create table ar_internal_metadata (key varchar primary key, value varchar, created_at timestamp(6) not null, updated_at timestamp(6) not null);
    create table users (id bigserial primary key, email varchar default '' not null, encrypted_password varchar default '' not null, reset_password_token varchar, sign_in_count int default 0 not null, created_at timestamp(6) not null, updated_at timestamp(6) not null);
    create unique index index_users_on_email on users (email);
    create unique index index_users_on_reset_password_token on users (reset_password_token);
    create table articles (id bigserial primary key, title varchar not null, body text, user_id bigint not null references users, status int default 0, published boolean default false, created_at timestamp(6) not null, updated_at timestamp(6) not null);
    create index index_articles_on_user_id on articles (user_id);
    create table comments (id bigserial primary key, commentable_type varchar not null, commentable_id bigint not null, created_at timestamp(6) not null, updated_at timestamp(6) not null);
    create index on comments (commentable_type, commentable_id);
    create table active_storage_blobs (id bigserial primary key, key varchar not null, filename varchar not null, metadata text, byte_size bigint not null, created_at timestamp(6) not null)`,
  laravel: `
    create table migrations (id serial primary key, migration varchar(255) not null, batch int not null);
    create table users (id bigserial primary key, name varchar(255) not null, email varchar(255) not null unique, email_verified_at timestamp(0), password varchar(255) not null, remember_token varchar(100), created_at timestamp(0), updated_at timestamp(0));
    create table password_reset_tokens (email varchar(255) primary key, token varchar(255) not null, created_at timestamp(0));
    create table sessions (id varchar(255) primary key, user_id bigint, ip_address varchar(45), user_agent text, payload text not null, last_activity int not null);
    create index on sessions (user_id);
    create table jobs (id bigserial primary key, queue varchar(255) not null, payload text not null, attempts smallint not null, available_at int not null);
    create table posts (id bigserial primary key, user_id bigint not null references users on delete cascade, title varchar(255) not null, views int not null default 0, status varchar(255) not null default 'draft' check (status in ('draft', 'published')), deleted_at timestamp(0), created_at timestamp(0), updated_at timestamp(0))`,
  django: `
    create table auth_user (id int primary key generated by default as identity, password varchar(128) not null, last_login timestamptz, is_superuser boolean not null, username varchar(150) not null unique, email varchar(254) not null, date_joined timestamptz not null);
    create table auth_group (id int primary key generated by default as identity, name varchar(150) not null unique);
    create table auth_user_groups (id bigint primary key generated by default as identity, user_id int not null references auth_user deferrable initially deferred, group_id int not null references auth_group deferrable initially deferred, unique (user_id, group_id));
    create table django_session (session_key varchar(40) primary key, session_data text not null, expire_date timestamptz not null);
    create table blog_post (id bigint primary key generated by default as identity, title varchar(200) not null, slug varchar(50) not null, stars int not null check (stars >= 0), created_at timestamptz not null, updated_at timestamptz not null, author_id int not null references auth_user deferrable initially deferred);
    create index on blog_post (slug)`,
  supabase: `
    create table users (id uuid primary key default gen_random_uuid(), email text);
    create table profiles (id uuid primary key references users on delete cascade, updated_at timestamptz, username text unique check (char_length(username) >= 3), avatar_url text);
    alter table profiles enable row level security;
    create policy everybody on profiles using (true);
    create table todos (id bigint primary key generated always as identity, user_id uuid not null references users, task text check (char_length(task) > 3), is_complete boolean default false, inserted_at timestamptz not null default timezone('utc', now()));
    create table countries (id bigint primary key generated by default as identity, name text, iso2 text not null, continent text);
    create table channels (id bigint primary key generated by default as identity, inserted_at timestamptz not null default now(), slug text not null unique, created_by uuid not null references users);
    create table messages (id bigint primary key generated by default as identity, message text, user_id uuid not null references users, channel_id bigint not null references channels on delete cascade)`,
  odd: `
    create extension if not exists citext;
    create type mood as enum ('sad', 'ok');
    create domain positive as int check (value > 0);
    create domain small as positive check (value < 1000);
    create domain moods as mood not null default 'ok';
    create table domains (id serial primary key, p positive not null, q small, m moods, ms mood[] not null default '{}', l numeric(10,2)[] not null default '{1.5}', t char(4) not null, c citext not null default 'x');
    create table types (id serial primary key, b bit(4) not null default b'1010', mo money not null default 12.5, p point not null default '(1,2)', tv tsvector, x xml, js json not null default '{}', jb jsonb not null default '[]', o oid, iv interval not null default '1 day', r int4range, by bytea, nm name, i inet, u uuid default gen_random_uuid());
    create table made (id int generated always as identity primary key, a int not null, b int generated always as (a * 2) stored, who text not null default current_user, arr text[] not null default array['a', 'b'], j jsonb not null default jsonb_build_object('a', 1), code text not null default upper(substr(md5(random()::text), 1, 8)) unique);
    create table steps (id bigint generated by default as identity (start 100 increment 5 cache 10) primary key, pos int not null unique deferrable initially deferred, parent_id bigint references steps deferrable initially deferred);
    create table base (id serial primary key, name text not null);
    create table child (extra text, primary key (id)) inherits (base);
    create table parts (id bigint generated by default as identity primary key, v text not null) partition by hash (id);
    create table parts_0 partition of parts for values with (modulus 1, remainder 0);
    create table "Upper Case" ("Id" serial primary key, "First Name" text not null, "a.b" int, "c""d" text, "größe" text);
    create table "dot.table" (id serial primary key);
    create table "qu""ote" (id serial primary key, v text);
    create table words (id serial primary key, "order" int not null, "limit" int not null, "id_" text, "offset" text, sort text, fields text, "where" text, include text, q text, since_id int, "constructor" text, "__proto__" text, "or" int, "not" text, count int);
    create table constants (id serial primary key, a int default null, b text default '', c date default '2020-01-01', d mood default 'ok', e text default E'it''s', f char(3) default 'abc');
    create table trimmed (id text primary key, name text not null);
    create function trim_name() returns trigger language plpgsql as $$ begin new.name := trim(new.name); new.id := coalesce(new.id, 'x'); return new; end $$;
    create trigger trims before insert or update on trimmed for each row execute function trim_name()`,
}

/** Of SQLite, by the name of a file. */
export const SQLITE: Readonly<Record<string, string>> = {
  music_lite: `
    create table [Artist] ([ArtistId] INTEGER not null, [Name] NVARCHAR(120), constraint [PK_Artist] primary key ([ArtistId]));
    create table [Album] ([AlbumId] INTEGER not null, [Title] NVARCHAR(160) not null, [ArtistId] INTEGER not null, constraint [PK_Album] primary key ([AlbumId]), foreign key ([ArtistId]) references [Artist] ([ArtistId]) on delete no action);
    create index [IFK_AlbumArtistId] on [Album] ([ArtistId]);
    create table [Invoice] ([InvoiceId] INTEGER not null primary key, [InvoiceDate] DATETIME not null, [Total] NUMERIC(10,2) not null);
    create table [PlaylistTrack] ([PlaylistId] INTEGER not null, [TrackId] INTEGER not null, primary key ([PlaylistId], [TrackId]))`,
  drizzle_lite: `
    create table \`users\` (\`id\` integer primary key autoincrement not null, \`name\` text not null, \`email\` text not null, \`age\` integer check (age >= 18), \`created_at\` integer default (unixepoch()) not null);
    create unique index \`users_email_unique\` on \`users\` (\`email\`);
    create table \`posts\` (\`id\` integer primary key autoincrement not null, \`user_id\` integer not null, \`status\` text default 'draft' not null check (\`status\` in ('draft', 'live')), \`score\` real, foreign key (\`user_id\`) references \`users\`(\`id\`) on delete cascade)`,
  prisma_lite: `
    create table "User" ("id" TEXT not null primary key, "email" TEXT not null, "createdAt" DATETIME not null default current_timestamp, "updatedAt" DATETIME not null);
    create table "Post" ("id" INTEGER not null primary key autoincrement, "title" TEXT not null, "published" BOOLEAN not null default false, "authorId" TEXT, constraint "Post_authorId_fkey" foreign key ("authorId") references "User" ("id") on delete set null)`,
  odd_lite: `
    create table times (id integer primary key, seconds integer not null default (strftime('%s','now')), ms integer not null default (unixepoch() * 1000), fine integer default (cast((julianday('now') - 2440587.5) * 86400000 as integer)), sub integer default (cast(unixepoch('subsec') * 1000 as integer)), printed text not null default (current_timestamp), flag integer not null default false);
    create table strict_ones (id integer primary key, a int not null, t text not null, r real, b blob, x any) strict;
    create table codes (code text primary key, v text not null) without rowid;
    create table made (id integer primary key, a int not null, b int generated always as (a * 2) virtual, c text as (a || 'x') stored);
    create table people (id integer primary key, name varchar(20) not null unique collate nocase);
    create table "dot.table" (id integer primary key);
    create table "We ird" ("Id" integer primary key, "order" text, "a.b" int, "größe" text, "x""y" text);
    create table counted (id integer primary key, n int default 0);
    create trigger counts after insert on counted begin update counted set n = n + 1 where id = new.id; end`,
  rails_lite: `
    create table "schema_migrations" ("version" varchar not null primary key);
    create table "articles" ("id" integer primary key autoincrement not null, "title" varchar, "body" text, "public" boolean default 0 not null, "tags" json, "created_at" datetime(6) not null, "updated_at" datetime(6) not null)`,
  django_lite: `
    create table "blog_post" ("id" integer not null primary key autoincrement, "title" varchar(200) not null, "key" char(32) not null, "stars" integer unsigned not null check ("stars" >= 0), "data" text not null check ((json_valid("data") or "data" is null)), "public" bool not null, "day" date not null, "made" datetime not null, "price" decimal not null)`,
  laravel_lite: `
    create table "users" ("id" integer primary key autoincrement not null, "name" varchar not null, "password" varchar not null, "remember_token" varchar, "admin" tinyint(1) not null default '0', "created_at" datetime, "updated_at" datetime)`,
}
