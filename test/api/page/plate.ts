import bwipjs from "bwip-js/node";
import type { Browser } from "playwright-core";

/** Kinds of codes on nameplates, by the drawing library's names. */
export const PLATE_CODES = ["code128", "code39", "qrcode", "datamatrix"] as const;

export interface Plate {
  readonly kind: (typeof PLATE_CODES)[number];
  readonly text: string;
}

const SIZE = { width: 1280, height: 720 };

/** Returns a JPEG like a photograph of a nameplate in a shop: rotated, from one side, in poor light, slightly blurred. */
export async function platePhoto(browser: Browser, { kind, text }: Plate): Promise<Buffer> {
  const isSquare = kind === "qrcode" || kind === "datamatrix";
  const code = bwipjs.toSVG({ bcid: kind, text, ...(isSquare ? {} : { height: 12 }) });
  const page = await browser.newPage({ viewport: SIZE });
  try {
    await page.setContent(`<style>
      body { margin: 0; height: 100vh; display: grid; place-items: center; background: linear-gradient(75deg, #3a3f45, #8d9196); }
      div { font: 26px sans-serif; padding: 34px 44px; background: #d8dadc; color: #222; border: 5px solid #777; border-radius: 12px;
        transform: perspective(1400px) rotateY(16deg) rotateX(8deg) rotate(-5deg); filter: blur(0.7px) contrast(0.75) brightness(0.85); }
      svg { display: block; margin: 14px 0; background: #e9e9e6; padding: 22px; width: ${isSquare ? 200 : 560}px; }
    </style><div>PAINT BOOTH SB-24<br>SER. NO. ${text}${code}208 V 3~ 60 Hz</div>`);
    return await page.screenshot({ type: "jpeg", quality: 70 });
  } finally {
    await page.close();
  }
}
