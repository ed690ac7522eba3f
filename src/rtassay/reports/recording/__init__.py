"""Reports and exports of one judged recording."""
