"""The pictures form."""

from contextlib import nullcontext

from flask import request
from flask.typing import ResponseReturnValue
from wtforms import MultipleFileField, SelectField, StringField

from app.intake.images import resize_images, resize_options
from app.intake.submissions import Submission
from app.intake.uploads import receive
from app.pages.blueprint import pages
from app.pages.forms import PageForm
from app.pages.samples import sample
from app.pages.submitting import sample_wanted, submit_form
from services.images.options import ResizeOptions

_DEFAULTS = ResizeOptions()
_FORMATS = {"webp": "WebP", "avif": "AVIF", "jpeg": "JPEG", "png": "PNG"}


class ImagesForm(PageForm):
    """Pictures and what to make of them; the values are checked where the API's are."""

    slot = "images"
    at_most = 20
    file = MultipleFileField("Pictures", id="images-file")
    widths = StringField("Widths", default=", ".join(map(str, _DEFAULTS.widths)), id="images-widths")
    format = SelectField(
        "Format", choices=_FORMATS, default=_DEFAULTS.format, id="images-format", validate_choice=False
    )
    quality = StringField("Quality", default=str(_DEFAULTS.quality), id="images-quality")


@pages.post("/images")
def resize_pictures() -> ResponseReturnValue:
    """One job for each picture."""
    form = ImagesForm()
    return submit_form(form, lambda visitor, key: _send(form, visitor, key))


def _send(form: ImagesForm, visitor: str, key: str | None) -> Submission:
    options = resize_options(form.widths.data, form.format.data, form.quality.data)
    with sample("sample.jpg") if sample_wanted() else nullcontext(request.files.getlist("file")) as files:
        uploads = receive(files, field="file", at_most=form.at_most)
        return resize_images(uploads, options, created_by=visitor, key=key)
