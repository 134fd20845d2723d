/** Where things are unless somebody says otherwise. */
export const DEFAULT_DATA_DIR = "/var/lib/booth-gateway";
export const DEFAULT_RUNTIME_DIR = "/run/booth-gateway";
/** Modbus TCP has it by its standard. */
export const MODBUS_PORT = 502;
