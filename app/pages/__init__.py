"""The pages people use. Every form works by plain post; scripts only make the pages livelier."""

from app.pages import batches, contact, documents, home, images, jobs
from app.pages.blueprint import pages

__all__ = ["batches", "contact", "documents", "home", "images", "jobs", "pages"]
