// What part of the map a pane shows.

import type { Layout } from "./layout";

export interface Size {
  width: number;
  height: number;
}

/** `zoom` 1 shows the whole machine; `x` and `y` are the centre as a share of the map, so that panes of any size agree. */
export interface Camera {
  zoom: number;
  x: number;
  y: number;
}

export const WHOLE: Camera = { zoom: 1, x: 0.5, y: 0.5 };

/** A cell is never shown larger than this share of the pane's smaller side. */
const LARGEST_CELL = 0.5;

/** Pixels a cell takes at zoom 1. */
export function fit(layout: Layout, pane: Size): number {
  return Math.min(pane.width / layout.columns, pane.height / layout.height);
}

export function largestZoom(layout: Layout, pane: Size): number {
  return Math.max(1, (LARGEST_CELL * Math.min(pane.width, pane.height)) / fit(layout, pane));
}

/** Keeps the camera over the map. */
export function clamp(camera: Camera, layout: Layout, pane: Size): Camera {
  const zoom = Math.min(Math.max(1, camera.zoom), largestZoom(layout, pane));
  const cell = fit(layout, pane) * zoom;
  const axis = (centre: number, cells: number, pixels: number): number => {
    const half = pixels / (2 * cell * cells);
    return half >= 0.5 ? 0.5 : Math.min(Math.max(centre, half), 1 - half);
  };
  return {
    zoom,
    x: axis(camera.x, layout.columns, pane.width),
    y: axis(camera.y, layout.height, pane.height),
  };
}

/** Pixels a cell takes, and where the map's upper left corner lies in the pane, in pixels. */
export interface Projection {
  cell: number;
  left: number;
  top: number;
}

export function project(camera: Camera, layout: Layout, pane: Size): Projection {
  const cell = fit(layout, pane) * camera.zoom;
  return {
    cell,
    left: pane.width / 2 - camera.x * layout.columns * cell,
    top: pane.height / 2 - camera.y * layout.height * cell,
  };
}

/** Zooms by a factor so that the point under the pointer stays where it is. */
export function zoomAt(
  camera: Camera,
  layout: Layout,
  pane: Size,
  factor: number,
  pointer: { x: number; y: number },
): Camera {
  const zoom = Math.min(Math.max(1, camera.zoom * factor), largestZoom(layout, pane));
  const before = project(camera, layout, pane);
  const cell = fit(layout, pane) * zoom;
  const cellX = (pointer.x - before.left) / before.cell;
  const cellY = (pointer.y - before.top) / before.cell;
  return clamp(
    {
      zoom,
      x: (cellX + (pane.width / 2 - pointer.x) / cell) / layout.columns,
      y: (cellY + (pane.height / 2 - pointer.y) / cell) / layout.height,
    },
    layout,
    pane,
  );
}

/** Moves the map by pixels. */
export function pan(camera: Camera, layout: Layout, pane: Size, dx: number, dy: number): Camera {
  const cell = fit(layout, pane) * camera.zoom;
  return clamp(
    { zoom: camera.zoom, x: camera.x - dx / (cell * layout.columns), y: camera.y - dy / (cell * layout.height) },
    layout,
    pane,
  );
}

/** Moves the camera just enough that a cell is seen whole. */
export function reveal(camera: Camera, layout: Layout, pane: Size, at: { x: number; y: number }): Camera {
  const { cell, left, top } = project(camera, layout, pane);
  const shift = (from: number, pixels: number): number => {
    if (from < 0) return -from;
    return from + cell > pixels ? pixels - from - cell : 0;
  };
  return pan(
    camera,
    layout,
    pane,
    shift(left + at.x * cell, pane.width),
    shift(top + at.y * cell, pane.height),
  );
}
