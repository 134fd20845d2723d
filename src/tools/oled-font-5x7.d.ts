/** The package has no types of its own. */
declare module "oled-font-5x7" {
  const font: {
    readonly width: number;
    readonly height: number;
    /** A column of a letter each, letter by letter in the order of `lookup`. */
    readonly fontData: readonly number[];
    readonly lookup: readonly string[];
  };
  export = font;
}
