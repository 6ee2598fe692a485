export { encode } from "./encode";
export { decode } from "./decode";
