// The entry point `rest-conventions/s3`: blobs in a bucket of S3.
export { type S3BlobOptions, s3Blobs } from './s3-blobs.ts'
