// What the modules of the tests leave behind is removed after each file, whether or not the next one shares the modules.
export const cleanUps = new Set<() => void>()
